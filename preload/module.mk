# preload/
