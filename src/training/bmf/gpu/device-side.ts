import type { Tensor } from 'onnxruntime-node'
import type { AlsSideName } from '../../als/solver/solver.ts'
import {
  type BatchedSide,
  batchSide,
  isSegmented,
  type RowBatch,
  SEGMENT_RATINGS,
} from '../../gpu/batches.ts'
import type { GpuGraph, GpuRuntime } from '../../gpu/runtime.ts'
import type { BmfShare, BmfSide } from '../drawing/share.ts'
import { batchRatings, type OtherRows } from './batch-inputs.ts'
import {
  type BmfGraphShape,
  bmfCollectGraph,
  bmfJoinGraph,
  bmfReadGraph,
  paddingRows,
} from './graph.ts'
import { groupsOf } from './groups.ts'
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

/** A batch on the device: `indexes` and `ratings`, from the upload graph. */
export interface DeviceBatch extends RowBatch {
  readonly ratings: Tensors
}

/** Rows that are drawn together, of one batch or more. */
export interface DeviceGroup {
  readonly rows: Uint32Array
  readonly batches: readonly DeviceBatch[]
  /** Joins the products of the batches where there are several. */
  readonly collecting: GpuGraph | undefined
  /** Design rows, their products and errors, from the last draw or the start graph. */
  drawn: Tensors
  /** Running means of the rows. */
  means: Tensor
}

/** What the sides of a chain have in common. */
export interface DeviceContext {
  readonly runtime: GpuRuntime
  readonly share: BmfShare
  readonly shape: BmfGraphShape
  /** Most floats of the largest tensor of a batch. */
  readonly batchFloats: number
}

/** Graphs that bring a side to the device. They stay open while their outputs are in use. */
export interface LoadingGraphs {
  readonly upload: GpuGraph
  readonly start: GpuGraph
}

interface DeviceSideParts {
  readonly batched: BatchedSide
  readonly batchGroups: readonly (readonly RowBatch[])[]
  readonly joining: GpuGraph
  readonly reading: GpuGraph
}

/** The rows of one side on the device. */
export class DeviceSide implements AsyncDisposable {
  readonly name: AlsSideName
  readonly batched: BatchedSide
  private readonly batchGroups: readonly (readonly RowBatch[])[]
  private readonly context: DeviceContext
  private readonly side: BmfSide
  private readonly joining: GpuGraph
  private readonly reading: GpuGraph
  private loaded: readonly DeviceGroup[] = []
  private joined: Tensor | undefined
  private sums = new Float32Array(0)

  private constructor(context: DeviceContext, name: AlsSideName, parts: DeviceSideParts) {
    this.name = name
    this.context = context
    this.side = context.share[name]
    this.batched = parts.batched
    this.batchGroups = parts.batchGroups
    this.joining = parts.joining
    this.reading = parts.reading
  }

  /** Divides a side into batches and groups of them, and compiles its graphs. Throws GPU_FAILED. */
  static async open(context: DeviceContext, name: AlsSideName): Promise<DeviceSide> {
    const { runtime, share, shape, batchFloats } = context
    const floatsOfSystem = shape.width ** 2
    const batched = batchSide(share[name], {
      floats: batchFloats,
      floatsOfRow: (length) => Math.max(length * shape.width, segmentsOf(length) * floatsOfSystem),
    })
    const batchGroups = groupsOf(batched.batches, Math.floor(batchFloats / floatsOfSystem))
    const count = batchGroups.length
    const joining = await runtime.open(bmfJoinGraph(shape, count), {
      ...{ others: 'device', allSums: 'here', allErrors: 'here' },
    })
    const reading = await runtime.open(bmfReadGraph(shape, count), { rows: 'here' })
    return new DeviceSide(context, name, { batched, batchGroups, joining, reading })
  }

  /** The groups, in the order of the positions. */
  get groups(): readonly DeviceGroup[] {
    return this.loaded
  }

  /** Design rows of all groups, then a row of zeros; `load` makes the first ones. */
  get others(): Tensor {
    if (this.joined === undefined) throw new RangeError(`the ${this.name} are not on the device`)
    return this.joined
  }

  /** Copies the ratings and the state of the chain to the device. Throws GPU_FAILED. */
  async load(graphs: LoadingGraphs, others: OtherRows): Promise<void> {
    const groups: DeviceGroup[] = []
    for (const grouped of this.batchGroups) {
      const batches: DeviceBatch[] = []
      for (const batch of grouped) {
        batches.push({ ...batch, ratings: await this.upload(graphs.upload, batch, others) })
      }
      const rows = Uint32Array.from(grouped.flatMap((batch) => [...batch.rows]))
      const collecting = grouped.length === 1 ? undefined : await this.openCollecting(grouped)
      const drawn = await this.start(graphs.start, rows)
      groups.push({ rows, batches, collecting, drawn, means: this.meansOf(rows) })
    }
    this.loaded = groups
    await this.join()
  }

  /** Makes `others` from the drawn groups, and writes the errors of the rows to the share. */
  async join(): Promise<void> {
    const inputs = Object.fromEntries(
      this.loaded.flatMap(({ drawn }, i) =>
        Object.entries(drawn).map(([name, tensor]) => [`${name}${i}`, tensor]),
      ),
    )
    const result = await this.joining.run(inputs, ['others', 'allSums', 'allErrors'])
    this.joined?.dispose()
    this.joined = result['others'] as Tensor
    this.sums = result['allSums']!.data as Float32Array<ArrayBuffer>
    this.writeErrors(result['allErrors']!.data as Float32Array)
  }

  /** `others`, multiplied with a root for each row of the side; the caller disposes of them. Throws GPU_FAILED. */
  async weighted(graph: GpuGraph, roots: Float32Array): Promise<Tensor> {
    const inOrder = new Float32Array(roots.length + 1)
    for (const [row, position] of this.batched.positions.entries()) inOrder[position] = roots[row]!
    const inputs = {
      others: this.others,
      roots: this.context.runtime.float32(inOrder, [inOrder.length, 1]),
    }
    return (await graph.run(inputs, ['weighted']))['weighted'] as Tensor
  }

  /** Writes the sums of the rows' products to the share. */
  writeSums(): void {
    writeSums(this.context.share, this.sums, this.context.shape.width)
  }

  /** Copies rows and means to the share. Throws GPU_FAILED. */
  async readBack(): Promise<void> {
    const { width } = this.context.shape
    const { positions } = this.batched
    const design = await this.read(({ drawn }) => drawn['design'] as Tensor)
    writeDesignRows(this.context.share, this.side, { design, positions, width })
    const padded = await this.read(({ means }) => means)
    writeVectors(this.means(), { padded, positions, width })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { batches, drawn, means, collecting } of this.loaded) {
      disposeAll(drawn, { means }, ...batches.map(({ ratings }) => ratings))
      await collecting?.[Symbol.asyncDispose]()
    }
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
  private async start(graph: GpuGraph, rows: Uint32Array): Promise<Tensors> {
    const { share, runtime, shape } = this.context
    const values = designRows(share, this.side, { rows, width: shape.width })
    const inputs = {
      rows: runtime.float32(values, [rows.length, shape.width]),
      padding: paddingOf(this.context, rows.length),
    }
    const { design, sums } = await graph.run(inputs, ['design', 'sums'])
    const errors = runtime.float32(new Float32Array(rows.length), [rows.length, 1])
    return { design: design!, sums: sums!, errors }
  }

  private openCollecting(batches: readonly RowBatch[]): Promise<GpuGraph> {
    const { runtime, shape } = this.context
    return runtime.open(bmfCollectGraph(shape, batches.length), { products: 'device' })
  }

  private meansOf(rows: Uint32Array): Tensor {
    const { runtime, shape } = this.context
    const padded = paddedVectors(this.means(), rows, shape.width)
    return runtime.float32(padded, [rows.length, shape.width])
  }

  /** The means in the share. */
  private means(): RowVectors {
    return { values: this.side.means, unknowns: this.context.shape.unknowns }
  }

  private async read(partOf: (group: DeviceGroup) => Tensor): Promise<Float32Array> {
    const inputs = this.loaded.map((group, i) => [`rows${i}`, partOf(group)] as const)
    const { rows } = await this.reading.run(Object.fromEntries(inputs), ['rows'])
    return rows!.data as Float32Array
  }

  private writeErrors(errors: Float32Array): void {
    for (const [row, position] of this.batched.positions.entries()) {
      this.side.objective[row] = errors[position]!
    }
  }
}

/** Systems that a row of a padded length has before they are added. */
function segmentsOf(length: number): number {
  return isSegmented(length) ? length / SEGMENT_RATINGS : 1
}

/** The rows of zeros behind `rows` rows of a group. */
export function paddingOf({ runtime, shape }: DeviceContext, rows: number): Tensor {
  const count = paddingRows(rows)
  return runtime.float32(new Float32Array(count * shape.width), [count, shape.width])
}

/** Frees tensors; those of this process have nothing to free. */
export function disposeAll(...groups: readonly Tensors[]): void {
  for (const group of groups) for (const tensor of Object.values(group)) tensor.dispose()
}
