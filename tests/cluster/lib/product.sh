# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Our build on the cluster, put there the way a site does it: make install, then
# `slurm-on-ocs install --apply` as root on the head.
install_product() { :; }
