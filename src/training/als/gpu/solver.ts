import type { Tensor } from 'onnxruntime-node'
import {
  BATCH_FLOATS,
  type BatchedSide,
  batchSide,
  isSegmented,
  type RowBatch,
} from '../../gpu/batches.ts'
import type { GpuGraph, GpuRuntime } from '../../gpu/runtime.ts'
import type { AlsShare } from '../solver/share.ts'
import { type AlsSide, matrixOf } from '../solver/sides.ts'
import type { AlsSideName } from '../solver/solver.ts'
import { batchRatings, implicitConstant } from './batch-ratings.ts'
import { type AlsGraphShape, alsGatherGraph, alsSolveGraph, alsUploadGraph } from './graph.ts'

/** Uploaded tensors of a batch, in the order of the upload graph's outputs. */
const UPLOADED = ['indexes', 'weights', 'targets', 'scale'] as const

/** Named tensors. */
type Tensors = Readonly<Record<string, Tensor>>

/** One side on the device. */
interface DeviceSide {
  readonly side: AlsSide
  readonly batched: BatchedSide
  /** Padded ratings of each batch. */
  ratings: readonly Tensors[]
  /** Current rows of each batch. */
  rows: Tensor[]
  /** Inputs of the other side's solve: `factors`, `bias` and `gram`. */
  design: Tensors
  readonly gather: GpuGraph
}

/**
 * Graphs that both sides run. They stay open while their outputs are in use: a device tensor that
 * outlives its session crashes the process.
 */
interface SharedGraphs {
  readonly solve: GpuGraph
  /** Of batches of long rows. */
  readonly solveSegmented: GpuGraph
  readonly upload: GpuGraph
}

interface GpuSolverParts {
  readonly runtime: GpuRuntime
  readonly share: AlsShare
  readonly graphs: SharedGraphs
  readonly sides: Readonly<Record<AlsSideName, DeviceSide>>
}

/**
 * Solves both sides of a shared problem on a GPU. Ratings and factors are copied there once. A half
 * iteration copies back two numbers per row, and the rows if they are requested.
 */
export class GpuAlsSolver implements AsyncDisposable {
  private readonly runtime: GpuRuntime
  private readonly share: AlsShare
  private readonly graphs: SharedGraphs
  private readonly sides: Readonly<Record<AlsSideName, DeviceSide>>

  private constructor(parts: GpuSolverParts) {
    this.runtime = parts.runtime
    this.share = parts.share
    this.graphs = parts.graphs
    this.sides = parts.sides
  }

  /**
   * Compiles the graphs and copies ratings and starting rows to the device, in batches that gather at
   * most `batchFloats` floats. Throws GPU_FAILED.
   */
  static async create(
    runtime: GpuRuntime,
    share: AlsShare,
    batchFloats = BATCH_FLOATS,
  ): Promise<GpuAlsSolver> {
    const shape = shapeOf(share, false)
    const solving = { rows: 'device', errors: 'device' } as const
    const places = UPLOADED.map((name) => [`${name}There`, 'device'] as const)
    const graphs = {
      solve: await runtime.open(alsSolveGraph(shape), solving),
      solveSegmented: await runtime.open(alsSolveGraph(shapeOf(share, true)), solving),
      upload: await runtime.open(alsUploadGraph(), Object.fromEntries(places)),
    }
    const open = async (side: AlsSide): Promise<DeviceSide> => {
      const batched = batchSide(side, {
        floats: batchFloats,
        floatsOfRow: (length) => length * share.unknowns,
      })
      const gather = await runtime.open(alsGatherGraph(shape, batched.batches.length), {
        ...Object.fromEntries(designOf(share).map((name) => [name, 'device'] as const)),
        ...{ allRows: 'here', allErrors: 'here' },
      })
      return { side, batched, ratings: [], rows: [], design: {}, gather }
    }
    const sides = { users: await open(share.users), items: await open(share.items) }
    const solver = new GpuAlsSolver({ runtime, share, graphs, sides })
    await solver.upload()
    return solver
  }

  /** Solves the rows of a side; writes their errors, and the rows if requested, to the share. */
  async solve(name: AlsSideName, needsRows: boolean): Promise<void> {
    const own = this.sides[name]
    const { design } = this.sides[name === 'users' ? 'items' : 'users']
    const errors: Tensor[] = []
    for (const [i, ratings] of own.ratings.entries()) {
      const start = own.rows[i] as Tensor
      const { length } = own.batched.batches[i] as RowBatch
      const graph = isSegmented(length) ? this.graphs.solveSegmented : this.graphs.solve
      const solved = await graph.run({ ...ratings, ...design, start }, ['rows', 'errors'])
      start.dispose()
      own.rows[i] = solved['rows'] as Tensor
      errors.push(solved['errors'] as Tensor)
    }
    const { allErrors, allRows } = await this.gatherSide(own, errors, needsRows)
    this.writeErrors(own, allErrors?.data as Float32Array)
    if (needsRows) this.writeRows(own, allRows?.data as Float32Array)
    for (const tensor of errors) tensor.dispose()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const side of Object.values(this.sides)) {
      const tensors = [...side.rows, ...Object.values(side.design)]
      for (const ratings of side.ratings) tensors.push(...Object.values(ratings))
      for (const tensor of tensors) tensor.dispose()
      await side.gather[Symbol.asyncDispose]()
    }
    for (const graph of Object.values(this.graphs)) await graph[Symbol.asyncDispose]()
  }

  private async upload(): Promise<void> {
    const { users, items } = this.sides
    for (const [own, other] of [
      [users, items],
      [items, users],
    ] as const) {
      const ratings: Tensors[] = []
      for (const batch of own.batched.batches) {
        ratings.push(await this.uploadRatings(own, batch, other.batched.positions))
        own.rows.push(this.startOf(own.side, batch))
      }
      own.ratings = ratings
      const none = own.batched.batches.map(({ rows }) =>
        this.runtime.float32(new Float32Array(rows.length * 2), [rows.length, 2]),
      )
      await this.gatherSide(own, none, false)
    }
  }

  private async uploadRatings(
    { side }: DeviceSide,
    batch: RowBatch,
    otherPositions: Uint32Array,
  ): Promise<Tensors> {
    const { float32, int32 } = this.runtime
    const values = batchRatings(this.share, batch, { side, otherPositions })
    const shape = [batch.rows.length, batch.length]
    const inputs: Tensors = {
      indexes: int32(values.indexes, shape),
      weights: float32(values.weights, shape),
      targets: float32(values.targets, shape),
      scale: float32(values.scale, [batch.rows.length, 1]),
    }
    const there = await this.graphs.upload.run(
      inputs,
      UPLOADED.map((name) => `${name}There`),
    )
    return Object.fromEntries(UPLOADED.map((name) => [name, there[`${name}There`] as Tensor]))
  }

  /** The rows of the share that a batch starts from. */
  private startOf(side: AlsSide, { rows }: RowBatch): Tensor {
    const { share } = this
    const { unknowns, biased } = share
    const matrix = matrixOf(share, side)
    const stride = share.strideBytes / 4
    const start = new Float32Array(rows.length * unknowns)
    for (const [b, row] of rows.entries()) {
      start.set(matrix.subarray(row * stride, row * stride + unknowns), b * unknowns)
      // In the share the bias follows the constant 1.
      if (biased) start[(b + 1) * unknowns - 1] = matrix[row * stride + unknowns] as number
    }
    return this.runtime.float32(start, [rows.length, unknowns])
  }

  /** Makes the design of a side from its batches; returns the errors, and the rows if requested. */
  private async gatherSide(
    own: DeviceSide,
    errors: readonly Tensor[],
    needsRows: boolean,
  ): Promise<Tensors> {
    const inputs: Record<string, Tensor> = {}
    for (const [i, tensor] of errors.entries()) {
      inputs[`errors${i}`] = tensor
      inputs[`rows${i}`] = own.rows[i] as Tensor
    }
    const design = designOf(this.share)
    const outputs = [...design, 'allErrors', ...(needsRows ? ['allRows'] : [])]
    const result = await own.gather.run(inputs, outputs)
    for (const tensor of Object.values(own.design)) tensor.dispose()
    own.design = Object.fromEntries(design.map((name) => [name, result[name] as Tensor]))
    return result
  }

  private writeErrors({ side, batched }: DeviceSide, errors: Float32Array): void {
    for (let row = 0; row < side.rows; row++) {
      const at = 2 * (batched.positions[row] as number)
      const constant = implicitConstant(this.share, side, row)
      side.objective[row] = (errors[at] as number) + constant
      side.penalties[row] = errors[at + 1] as number
    }
  }

  private writeRows({ side, batched }: DeviceSide, rows: Float32Array): void {
    const { share } = this
    const { unknowns, biased } = share
    const matrix = matrixOf(share, side)
    const stride = share.strideBytes / 4
    for (let row = 0; row < side.rows; row++) {
      const from = (batched.positions[row] as number) * unknowns
      matrix.set(rows.subarray(from, from + unknowns), row * stride)
      if (!biased) continue
      matrix[row * stride + unknowns] = rows[from + unknowns - 1] as number
      matrix[row * stride + unknowns - 1] = 1
    }
  }
}

function shapeOf(share: AlsShare, isSegmented: boolean): AlsGraphShape {
  const { unknowns, biased, cgSteps, regularization, biasRegularization } = share
  const isImplicit = share.implicit !== undefined
  return {
    ...{ unknowns, biased, isImplicit, isSegmented },
    ...{ cgSteps, regularization, biasRegularization },
  }
}

/** Names of the inputs that a side's solve gets from the other side. */
function designOf(share: AlsShare): string[] {
  const bias = share.biased ? ['bias'] : []
  return ['factors', ...bias, ...(share.implicit === undefined ? [] : ['gram'])]
}
