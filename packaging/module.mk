# packaging/: what `make install`, deb, rpm and dist run (targets in tests/targets.mk), and templates of what a site may
# enable: profile.d, modulefiles. deps.sh installs what building and testing need.
