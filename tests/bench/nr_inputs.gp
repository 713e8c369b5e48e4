# gnuplot -c nr_inputs.gp INPUTS.csv INPUTS.svg: what nr_input_bench wrote.
set terminal svg size 900,420 font "sans,12" background "white"
set output ARG2
set datafile separator ","
set key outside right top
set ylabel "dB more than floating point"
set yrange [-0.02:0.16]
set grid ytics
set style data histograms
set style histogram clustered gap 2
set style fill solid 0.9 noborder
set xtics rotate by -35
# Columns by number: the first two name the point.
label(qm, rate) = sprintf("%s, R=%.2f", qm == 2 ? "QPSK" : sprintf("%dQAM", 2 ** qm), rate)
plot ARG1 using 6:xtic(label(int($1), $2)) every ::1 title "int16 LLRs" lc rgb "#1b6ca8", \
     ARG1 using 7 every ::1 title "int16, scale chosen" lc rgb "#6fb1de", \
     ARG1 using 8 every ::1 title "6-bit LLRs" lc rgb "#c9a227", \
     ARG1 using 9 every ::1 title "4-bit LLRs" lc rgb "#c4572b", \
     ARG1 using 12 every ::1 title "int16 symbols" lc rgb "#3d8b4f", \
     ARG1 using 13 every ::1 title "int8 symbols" lc rgb "#9cc9a5"
