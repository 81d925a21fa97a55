import { kernelsFor } from '../../core/kernels/by-memory.ts'
import type { Gathering, Kernels } from '../../core/kernels/kernels.ts'
import type { RowTableReader } from '../../state/rows/reader.ts'

/** Features that are gathered together. */
export const GATHERED = 256

const LIST_BYTES = GATHERED * 4

/**
 * The features that are gathered from one table, in a scratch area of its memory, where the kernel
 * reads them:
 *
 *   0                 1024             2048                 3072
 *   +-----------------+----------------+--------------------+------------------------+
 *   | addresses of    | sequence words | addresses of       | values of the features |
 *   | rows' headers   | as remembered  | features' weights  | float32                |
 *   +-----------------+----------------+--------------------+------------------------+
 */
export class WeightLane implements Gathering {
  readonly reader: RowTableReader
  headers = 0
  sequences = 0
  rows = 0
  addresses = 0
  values = 0
  features = 0
  headerList = new Int32Array(0)
  sequenceList = new Int32Array(0)
  addressList = new Int32Array(0)
  valueList = new Float32Array(0)
  /** Numbers of the rows. */
  readonly rowNumbers = new Int32Array(GATHERED)
  private readonly kernels: Kernels
  /** The area that this lane holds, -1 if none. */
  private scratch = -1
  /** The area that the lists are views of. */
  private listed = -1

  constructor(reader: RowTableReader) {
    this.reader = reader
    this.kernels = kernelsFor(reader.share.memory)
  }

  /** Takes a scratch area unless it has one; false when all are taken. Call `close` afterwards. */
  open(): boolean {
    if (this.scratch >= 0) return true
    this.scratch = this.reader.takeScratch()
    if (this.scratch < 0) return false
    if (this.scratch !== this.listed) this.layOut(this.scratch)
    return true
  }

  private layOut(scratch: number): void {
    const { buffer } = this.reader.share.memory
    this.listed = scratch
    this.headers = scratch
    this.sequences = scratch + LIST_BYTES
    this.addresses = scratch + 2 * LIST_BYTES
    this.values = scratch + 3 * LIST_BYTES
    this.headerList = new Int32Array(buffer, this.headers, GATHERED)
    this.sequenceList = new Int32Array(buffer, this.sequences, GATHERED)
    this.addressList = new Int32Array(buffer, this.addresses, GATHERED)
    this.valueList = new Float32Array(buffer, this.values, GATHERED)
  }

  /** Gives the scratch area back. */
  close(): void {
    if (this.scratch < 0) return
    this.reader.releaseScratch(this.scratch)
    this.scratch = -1
  }

  /** Sum of the features' weights x values. */
  sum(): number {
    return this.kernels.gatherDot(this)
  }

  /** Features of the last `sum` with weight 0; -1 when a row has changed, so that the sum is not valid. */
  weightless(): number {
    return this.kernels.gatheredZeros()
  }
}
