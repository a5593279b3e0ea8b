#!/usr/bin/env bash
# The grid of the study: networks x batches x convolution algorithms x clocks, then what follows from it.
#   ./run.sh                    on this machine's GPU, with PyTorch
#   ./run.sh sim:a100           on the simulated GPU, with ergon-simload
#   QUICK=1 ./run.sh sim:a100   a small part of the grid
# Others: MODE=inference, NETWORKS=..., BATCHES=..., ALGORITHMS=..., CLOCKS=..., OUT=folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
gpu=${1:-}
ergon=${ERGON:-ergon}
out=${OUT:-dnn-sweep}
mode=${MODE:-training}
networks=${NETWORKS:-alexnet,vgg16,googlenet,resnet50}
algorithms=${ALGORITHMS:-gemm,fft,winograd}
batches=${BATCHES:-16,32,64,128}
clocks=${CLOCKS:-510MHz:1410MHz:7}
if [ -n "${QUICK:-}" ]; then
  networks=${NETWORKS:-alexnet,resnet50} algorithms=${ALGORITHMS:-gemm,winograd} batches=${BATCHES:-32} clocks=${CLOCKS:-705MHz:1410MHz:4}
fi
[ "$mode" = inference ] && batches=${BATCHES:-256}
mkdir -p "$out"
program=(python3 "$here/dnn.py")
select=()
if [ -n "$gpu" ]; then
  select=(--gpu "$gpu")
  case $gpu in sim:*) program=(python3 "$here/simulated.py" --simload "${SIMLOAD:-$(dirname "$(command -v "$ergon")")/ergon-simload}") ;; esac
fi
file="$out/$mode.sqlite"
resume=()
[ -e "$file" ] && resume=(--resume)
"$ergon" sweep "${select[@]}" --sm "$clocks" -L network="$networks" -L batch="$batches" -L algorithm="$algorithms" \
  -o "$file" "${resume[@]}" -- "${program[@]}" --mode "$mode" --network "{network}" --batch "{batch}" --algorithm "{algorithm}"
"$ergon" study "$file" --by network --by algorithm --by network,algorithm --export "html:$out/$mode.html" --export "json:$out/$mode.json"
echo "the page: $out/$mode.html"
