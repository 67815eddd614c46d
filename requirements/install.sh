#!/usr/bin/env bash
# Install labkit and everything it runs on into one environment:  requirements/install.sh cpu|gpu PYTHON
set -euo pipefail
device=$1 python=$2
here=$(dirname "$0")
pip=("$python" -m pip --disable-pip-version-check install -q)
if [ "$device" = cpu ]; then
    # the CPU build of torch lies on an index of its own, asked only where pip does not find it without
    torch=$(grep '^torch==' "$here/cpu.txt")
    "${pip[@]}" --no-deps "$torch" 2>/dev/null \
        || "${pip[@]}" --no-deps "$torch" --extra-index-url https://download.pytorch.org/whl/cpu
    # the list is complete; without --no-deps pip would add torchvision and torchaudio, which break on it
    "${pip[@]}" --no-deps -r "$here/cpu.txt"
else
    "${pip[@]}" -r "$here/gpu.txt"
fi
"${pip[@]}" --no-deps --no-build-isolation -e "$here/.."
