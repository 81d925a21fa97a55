import { type RandomStreams, randomStreams } from '../../../core/random.ts'
import type { AlsSideName } from '../../als/solver/solver.ts'
import type { TrainingParticipant } from '../../threads/training-threads.ts'
import { streamsOf } from '../drawing/drawer.ts'

/** Rows that a thread takes at a time. */
const CHUNK_ROWS = 1024

/** The normal numbers of a side. */
export interface NormalsSide {
  /** Row numbers, in the order in which the device has the rows. */
  readonly rows: Uint32Array
  /** The numbers of these rows for one draw, `[rows x unknowns]`. */
  readonly values: Float32Array
}

/** What the threads share that compute normal numbers. */
export interface NormalsShare {
  readonly seed: number
  readonly unknowns: number
  readonly users: NormalsSide
  readonly items: NormalsSide
  /** Number of the next chunk of rows; the only value that several threads write. */
  readonly nextChunk: Int32Array
}

/** The draw of a side in a sweep. */
export interface NormalsTask {
  readonly side: AlsSideName
  readonly sweep: number
}

/** A side whose rows the device has in this order. */
export function normalsSide(rows: Iterable<number>, unknowns: number): NormalsSide {
  const order = Uint32Array.from(rows)
  const shared = new Uint32Array(new SharedArrayBuffer(order.byteLength))
  shared.set(order)
  const values = new Float32Array(new SharedArrayBuffer(4 * order.length * unknowns))
  return { rows: shared, values }
}

/** Computes the normal numbers of a draw in the calling thread: those that the CPU's drawer takes. */
export class NormalsWriter implements TrainingParticipant<NormalsTask> {
  private readonly share: NormalsShare
  private readonly random: RandomStreams

  constructor(share: NormalsShare) {
    this.share = share
    this.random = randomStreams(share.seed)
  }

  /** Computes chunks of rows until none is left. */
  run({ side, sweep }: NormalsTask): void {
    const { rows } = this.share[side]
    const streams = streamsOf(sweep, side)
    for (;;) {
      const from = CHUNK_ROWS * Atomics.add(this.share.nextChunk, 0, 1)
      if (from >= rows.length) return
      this.write(this.share[side], streams, from)
    }
  }

  private write({ rows, values }: NormalsSide, streams: number, from: number): void {
    const { unknowns } = this.share
    const end = Math.min(from + CHUNK_ROWS, rows.length)
    let at = from * unknowns
    for (let i = from; i < end; i++) {
      this.random.seek(streams, rows[i]!)
      for (let k = 0; k < unknowns; k++) values[at++] = this.random.normal()
    }
  }
}
