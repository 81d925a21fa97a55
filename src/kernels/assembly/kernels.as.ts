/** Entry of the kernel module: what is exported here is callable from `kernels.ts`. */
export { dot, axpy, gemv, sgdStep } from './vector.as'
export { gatherDot, gatheredZeros } from './gather.as'
export { topKOne, topKFour, topKEight, topKSixteen, topKWritten } from './top-k.as'
export { accumulateGram, factorCholesky, solveCholesky } from './cholesky.as'
export { alsSolveCholesky, alsSolveGradient, alsPenalty } from './als-row.as'
export { drawRow } from './draw-row.as'
export { screenEncode, screenErase, screenOpen, screenOne, screenFour, topKFourRows } from './top-k-screen.as'
