import type { Tensor } from 'onnxruntime-node'
import { alsWidth } from '../../../core/kernels/kernels.ts'
import type { AlsSideName } from '../../als/solver/solver.ts'
import { BATCH_FLOATS, isSegmented } from '../../gpu/batches.ts'
import type { GpuGraph, GpuRuntime } from '../../gpu/runtime.ts'
import type { BmfDrawTask, BmfTask } from '../drawing/drawer.ts'
import type { BmfShare } from '../drawing/share.ts'
import {
  type DeviceContext,
  type DeviceGroup,
  DeviceSide,
  disposeAll,
  type LoadingGraphs,
  paddingOf,
  type Tensors,
} from './device-side.ts'
import {
  bmfDrawGraph,
  bmfProductsGraph,
  bmfStartGraph,
  bmfUploadGraph,
  bmfWeighGraph,
  deviceWidth,
} from './graph.ts'
import { type NormalsSide, normalsSide } from './normals.ts'
import { NormalsAhead } from './normals-ahead.ts'

/** Outputs of the draw graph that the next phases use, and those that the next draw of the rows uses. */
const DRAWN = ['design', 'sums', 'errors'] as const

interface GpuDrawerParts {
  readonly context: DeviceContext
  readonly graphs: LoadingGraphs & {
    readonly products: GpuGraph
    /** Of batches of long rows. */
    readonly productsSegmented: GpuGraph
    readonly weigh: GpuGraph
    readonly draw: GpuGraph
  }
  readonly sides: Readonly<Record<AlsSideName, DeviceSide>>
  readonly normals: NormalsAhead
}

/** Options of `GpuDrawer.create`. */
export interface GpuDrawerOptions {
  /** Most floats of the largest tensor of a batch, or one row. @default 2^25 */
  readonly batchFloats?: number
  /** Threads that compute normal numbers; 0 computes them in the calling thread. @default 0 */
  readonly threads?: number
}

/**
 * Draws both sides of a shared chain on a GPU, with the random numbers of the CPU's drawer, so that the chain
 * is the CPU's up to rounding. Ratings, rows and means are copied there once. A draw copies the normal
 * numbers and the weights there, and the sums of products of each batch and the errors back.
 */
export class GpuDrawer implements AsyncDisposable {
  private readonly parts: GpuDrawerParts

  private constructor(parts: GpuDrawerParts) {
    this.parts = parts
  }

  /** Compiles the graphs and copies ratings and the state of the chain to the device. Throws GPU_FAILED. */
  static async create(
    runtime: GpuRuntime,
    share: BmfShare,
    { batchFloats = BATCH_FLOATS, threads = 0 }: GpuDrawerOptions = {},
  ): Promise<GpuDrawer> {
    const context = contextOf(runtime, share, batchFloats)
    const graphs = await openGraphs(context)
    const users = await DeviceSide.open(context, 'users')
    const items = await DeviceSide.open(context, 'items')
    await users.load(graphs, { positions: items.batched.positions, zeros: share.items.rows })
    await items.load(graphs, { positions: users.batched.positions, zeros: share.users.rows })
    const normals = normalsOf(share, { users, items }, threads)
    return new GpuDrawer({ context, graphs, sides: { users, items }, normals })
  }

  /** Number of batches of each group of a side. */
  batchesOf(side: AlsSideName): readonly number[] {
    return this.parts.sides[side].groups.map(({ batches }) => batches.length)
  }

  /** Writes the sums of a side's rows to the share, or draws its rows. Throws GPU_FAILED. */
  async run(task: BmfTask): Promise<void> {
    const own = this.parts.sides[task.side]
    if (task.kind === 'sums') return own.writeSums()
    await this.drawRows(own, task)
    await own.join()
    if (task.read) await own.readBack()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { graphs, sides, normals } = this.parts
    await normals[Symbol.asyncDispose]()
    for (const part of [sides.users, sides.items, ...Object.values(graphs)]) {
      await part[Symbol.asyncDispose]()
    }
  }

  private async drawRows(own: DeviceSide, task: BmfDrawTask): Promise<void> {
    const { graphs, sides, context } = this.parts
    const { userRoots } = context.share
    // Users have one weight for all their ratings; an item's ratings have those of their users.
    const isWeighed = task.side === 'items'
    const others = isWeighed
      ? await sides.users.weighted(graphs.weigh, userRoots)
      : sides.items.others
    const settings = this.settingsOf(task)
    const normals = await this.parts.normals.take(task)
    let row = 0
    for (const group of own.groups) {
      const products = await this.productsOf(group, others)
      const weights = weightsOf(group.rows, isWeighed ? undefined : userRoots)
      const inputs = {
        ...settings,
        products,
        weights: context.runtime.float32(weights, [weights.length, 1, 1]),
        ...this.inputsOf(group, normals, row),
      }
      row += group.rows.length
      const result = await graphs.draw.run(inputs, [...DRAWN, 'means'])
      products.dispose()
      disposeAll(group.drawn, { means: group.means })
      group.drawn = Object.fromEntries(DRAWN.map((name) => [name, result[name] as Tensor]))
      group.means = result['means'] as Tensor
    }
    if (isWeighed) others.dispose()
  }

  /** Products of the ratings of a group's rows; the caller disposes of them. */
  private async productsOf({ batches, collecting }: DeviceGroup, others: Tensor): Promise<Tensor> {
    const { graphs } = this.parts
    const parts: Tensor[] = []
    for (const { ratings, length } of batches) {
      const graph = isSegmented(length) ? graphs.productsSegmented : graphs.products
      const { products } = await graph.run({ others, ...ratings }, ['products'])
      parts.push(products as Tensor)
    }
    if (collecting === undefined) return parts[0] as Tensor
    const named = Object.fromEntries(parts.map((part, i) => [`products${i}`, part] as const))
    const { products } = await collecting.run(named, ['products'])
    disposeAll(named)
    return products as Tensor
  }

  /** The group's rows start at number `first` of the side's `normals`. */
  private inputsOf({ rows, means }: DeviceGroup, normals: Float32Array, first: number): Tensors {
    const { runtime, shape } = this.parts.context
    const { unknowns } = shape
    // A copy: the runtime takes no shared memory.
    const own = normals.slice(first * unknowns, (first + rows.length) * unknowns)
    return {
      meansBefore: means,
      normals: runtime.float32(own, [rows.length, unknowns, 1]),
      padding: paddingOf(this.parts.context, rows.length),
    }
  }

  /** Inputs that are the same for every group of a draw. */
  private settingsOf({ noise, kept }: BmfDrawTask): Tensors {
    const { runtime, shape } = this.parts.context
    const { unknowns, width } = shape
    const scalar = (value: number, dimensions: number): Tensor =>
      runtime.float32(Float32Array.of(value), new Array<number>(dimensions).fill(1))
    return {
      prior: runtime.float32(this.priorOf(), [1, unknowns, width]),
      noise: scalar(noise, 3),
      weight: scalar(kept === 0 ? 0 : 1 / kept, 2),
    }
  }

  /** The prior of the share, with the shift in the column behind it. */
  private priorOf(): Float32Array {
    const { share, shape } = this.parts.context
    const { unknowns, width } = shape
    const { buffer } = share.memory
    const stride = alsWidth(unknowns)
    const prior = new Float32Array(buffer, share.priorAddress, stride * stride)
    const shift = new Float32Array(buffer, share.shiftAddress, stride)
    const values = new Float32Array(unknowns * width)
    for (let i = 0; i < unknowns; i++) {
      values.set(prior.subarray(i * stride, i * stride + unknowns), i * width)
      values[i * width + unknowns] = shift[i]!
    }
    return values
  }
}

/** Weights of all ratings of each of these rows, 1 without roots. */
function weightsOf(rows: Uint32Array, roots: Float32Array | undefined): Float32Array {
  return Float32Array.from(rows, (row) => (roots === undefined ? 1 : roots[row]! ** 2))
}

function contextOf(runtime: GpuRuntime, share: BmfShare, batchFloats: number): DeviceContext {
  const { unknowns } = share
  return {
    runtime,
    share,
    shape: { unknowns, width: deviceWidth(unknowns) },
    batchFloats,
  }
}

function normalsOf(
  { seed, unknowns }: BmfShare,
  sides: Readonly<Record<AlsSideName, DeviceSide>>,
  threads: number,
): NormalsAhead {
  const [users, items] = [sides.users, sides.items].map(({ groups }) =>
    normalsSide(
      groups.flatMap(({ rows }) => [...rows]),
      unknowns,
    ),
  ) as [NormalsSide, NormalsSide]
  const nextChunk = new Int32Array(new SharedArrayBuffer(4))
  return new NormalsAhead({ seed, unknowns, users, items, nextChunk }, threads)
}

async function openGraphs({ runtime, shape }: DeviceContext): Promise<GpuDrawerParts['graphs']> {
  const onDevice = (names: readonly string[]): Readonly<Record<string, 'device'>> =>
    Object.fromEntries(names.map((name) => [name, 'device'] as const))
  const products = { products: 'device' } as const
  return {
    products: await runtime.open(bmfProductsGraph(shape, false), products),
    productsSegmented: await runtime.open(bmfProductsGraph(shape, true), products),
    weigh: await runtime.open(bmfWeighGraph(shape), { weighted: 'device' }),
    draw: await runtime.open(bmfDrawGraph(shape), onDevice([...DRAWN, 'means'])),
    start: await runtime.open(bmfStartGraph(shape), onDevice(['design', 'sums'])),
    upload: await runtime.open(bmfUploadGraph(), onDevice(['indexesThere', 'ratingsThere'])),
  }
}
