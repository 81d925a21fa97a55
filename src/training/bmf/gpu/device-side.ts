import type { Tensor } from 'onnxruntime-node'
import type { AlsSideName } from '../../als/solver/solver.ts'
import { type BatchedSide, batchSide, type RowBatch } from '../../gpu/batches.ts'
import type { GpuGraph, GpuRuntime } from '../../gpu/runtime.ts'
import type { BmfShare, BmfSide } from '../drawing/share.ts'
import { batchRatings, type OtherRows } from './batch-inputs.ts'
import { type BmfGraphShape, bmfJoinGraph, bmfReadGraph } from './graph.ts'
import {
  designRows,
  paddedVectors,
  type RowVectors,
  writeDesignRows,
  writeSums,
  writeVectors,
} from './host-rows.ts'

/** Named tensors. */
export type Tensors = Readonly<Record<string, Tensor>>

/** A batch on the device. */
export interface DeviceBatch extends RowBatch {
  /** `indexes` and `ratings`, from the upload graph. */
  readonly ratings: Tensors
  /** Design rows, their products and errors, from the last draw or the start graph. */
  drawn: Tensors
  /** Running means and moments of the rows, by the names of the draw graph's outputs. */
  kept: Tensors
}

/** What the sides of a chain have in common. */
export interface DeviceContext {
  readonly runtime: GpuRuntime
  readonly share: BmfShare
  readonly shape: BmfGraphShape
  /** Most floats of the largest tensor of a batch. */
  readonly batchFloats: number
}

/** Graphs that bring a batch to the device. They stay open while their outputs are in use. */
export interface LoadingGraphs {
  readonly upload: GpuGraph
  readonly start: GpuGraph
}

/** Errors where there was no draw. */
const noErrors = ({ rows }: RowBatch): Float32Array => new Float32Array(rows.length)

/** The rows of one side on the device. */
export class DeviceSide implements AsyncDisposable {
  readonly name: AlsSideName
  readonly batched: BatchedSide
  private readonly context: DeviceContext
  private readonly side: BmfSide
  private readonly joining: GpuGraph
  private readonly reading: GpuGraph
  private loaded: readonly DeviceBatch[] = []
  private joined: Tensor | undefined
  private sums = new Float32Array(0)

  private constructor(
    context: DeviceContext,
    name: AlsSideName,
    parts: Pick<DeviceSide, 'batched'> & { readonly joining: GpuGraph; readonly reading: GpuGraph },
  ) {
    this.name = name
    this.context = context
    this.side = context.share[name]
    this.batched = parts.batched
    this.joining = parts.joining
    this.reading = parts.reading
  }

  /** Divides a side into batches and compiles its graphs. Throws GPU_FAILED. */
  static async open(context: DeviceContext, name: AlsSideName): Promise<DeviceSide> {
    const { runtime, share, shape, batchFloats } = context
    const batched = batchSide(share[name], {
      floats: batchFloats,
      floatsOfRow: (length) => Math.max(length, shape.unknowns) * shape.width,
    })
    const count = batched.batches.length
    const joining = await runtime.open(bmfJoinGraph(shape, count), {
      ...{ others: 'device', allSums: 'here', allErrors: 'here' },
    })
    const reading = await runtime.open(bmfReadGraph(shape, count), { rows: 'here' })
    return new DeviceSide(context, name, { batched, joining, reading })
  }

  /** The batches, in the order of the positions. */
  get batches(): readonly DeviceBatch[] {
    return this.loaded
  }

  /** Design rows of all batches, then a row of zeros; `load` makes the first ones. */
  get others(): Tensor {
    if (this.joined === undefined) throw new RangeError(`the ${this.name} are not on the device`)
    return this.joined
  }

  /** Copies the ratings and the state of the chain to the device. Throws GPU_FAILED. */
  async load(graphs: LoadingGraphs, others: OtherRows): Promise<void> {
    const batches: DeviceBatch[] = []
    for (const batch of this.batched.batches) {
      const ratings = await this.upload(graphs.upload, batch, others)
      const drawn = await this.start(graphs.start, batch)
      batches.push({ ...batch, ratings, drawn, kept: this.keptOf(batch) })
    }
    this.loaded = batches
    await this.join(false)
  }

  /** Makes `others` from the drawn batches, and with `needsErrors` writes the errors of the rows to the share. */
  async join(needsErrors: boolean): Promise<void> {
    const inputs = Object.fromEntries(
      this.loaded.flatMap(({ drawn }, i) =>
        Object.entries(drawn).map(([name, tensor]) => [`${name}${i}`, tensor]),
      ),
    )
    const outputs = ['others', 'allSums', ...(needsErrors ? ['allErrors'] : [])]
    const result = await this.joining.run(inputs, outputs)
    this.joined?.dispose()
    this.joined = result['others'] as Tensor
    this.sums = result['allSums']!.data as Float32Array<ArrayBuffer>
    if (needsErrors) this.writeErrors(result['allErrors']!.data as Float32Array)
  }

  /** Writes the sums of the rows' products to the share. */
  writeSums(): void {
    writeSums(this.context.share, this.sums, this.context.shape.width)
  }

  /** Copies rows, means and moments to the share. Throws GPU_FAILED. */
  async readBack(): Promise<void> {
    const { width } = this.context.shape
    const { positions } = this.batched
    const design = await this.read(({ drawn }) => drawn['design'] as Tensor)
    writeDesignRows(this.context.share, this.side, { design, positions, width })
    for (const [name, vectors] of Object.entries(this.vectors())) {
      const padded = await this.read(({ kept }) => kept[name] as Tensor)
      writeVectors(vectors, { padded, positions, width })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { ratings, drawn, kept } of this.loaded) disposeAll(ratings, drawn, kept)
    this.joined?.dispose()
    await this.joining[Symbol.asyncDispose]()
    await this.reading[Symbol.asyncDispose]()
  }

  private async upload(graph: GpuGraph, batch: RowBatch, others: OtherRows): Promise<Tensors> {
    const { share, runtime } = this.context
    const { indexes, ratings } = batchRatings(batch, { side: this.side, mean: share.mean }, others)
    const shape = [batch.rows.length, batch.length]
    const there = await graph.run(
      {
        indexes: runtime.int32(indexes, shape),
        ratings: runtime.float32(ratings, [...shape, 1]),
      },
      ['indexesThere', 'ratingsThere'],
    )
    return { indexes: there['indexesThere']!, ratings: there['ratingsThere']! }
  }

  /** Design rows of the share and their products. */
  private async start(graph: GpuGraph, batch: RowBatch): Promise<Tensors> {
    const { share, runtime, shape } = this.context
    const { rows } = batch
    const values = designRows(share, this.side, { rows, width: shape.width })
    const inputs = { rows: runtime.float32(values, [rows.length, shape.width]) }
    const { design, sums } = await graph.run(inputs, ['design', 'sums'])
    const errors = runtime.float32(noErrors(batch), [rows.length, 1])
    return { design: design!, sums: sums!, errors }
  }

  private keptOf({ rows }: RowBatch): Tensors {
    const { runtime, shape } = this.context
    const tensors = Object.entries(this.vectors()).map(([name, vectors]) => {
      const padded = paddedVectors(vectors, rows, shape.width)
      return [name, runtime.float32(padded, [rows.length, shape.width])] as const
    })
    return Object.fromEntries(tensors)
  }

  /** Where the share has the means and moments, by the names of the draw graph's outputs. */
  private vectors(): Readonly<Record<string, RowVectors>> {
    const { unknowns, hasMoments } = this.context.shape
    const { means, moments } = this.side
    const ofMeans = { values: means, first: 0, stride: unknowns, unknowns }
    if (!hasMoments) return { means: ofMeans }
    const ofDraws = { values: moments, first: 0, stride: 2 * unknowns, unknowns }
    return { means: ofMeans, drawMeans: ofDraws, squares: { ...ofDraws, first: unknowns } }
  }

  private async read(partOf: (batch: DeviceBatch) => Tensor): Promise<Float32Array> {
    const inputs = this.loaded.map((batch, i) => [`rows${i}`, partOf(batch)] as const)
    const { rows } = await this.reading.run(Object.fromEntries(inputs), ['rows'])
    return rows!.data as Float32Array
  }

  private writeErrors(errors: Float32Array): void {
    for (const [row, position] of this.batched.positions.entries()) {
      this.side.objective[row] = errors[position]!
    }
  }
}

/** Frees tensors; those of this process have nothing to free. */
export function disposeAll(...groups: readonly Tensors[]): void {
  for (const group of groups) for (const tensor of Object.values(group)) tensor.dispose()
}
