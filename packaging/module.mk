# packaging/
