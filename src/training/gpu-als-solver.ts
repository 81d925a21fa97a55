import type { Tensor } from 'onnxruntime-node'
import { type AlsShare, type AlsSide, matrixOf } from './als-share.ts'
import type { AlsSideName } from './als-solver.ts'
import {
  type AlsBatch,
  type AlsBatchedSide,
  batchRatings,
  batchSide,
  implicitConstant,
} from './gpu-als-batches.ts'
import {
  type AlsGraphShape,
  alsGatherGraph,
  alsSolveGraph,
  alsUploadGraph,
} from './gpu-als-graph.ts'
import type { GpuGraph, GpuRuntime } from './gpu-runtime.ts'

/** Floats that a batch gathers at most, 32 MiB; a longer row is a batch of its own. */
const BATCH_FLOATS = 2 ** 23

/** What is uploaded of a batch, in the order of the upload graph's outputs. */
const UPLOADED = ['indexes', 'weights', 'targets', 'scale'] as const

/** Named tensors. */
type Tensors = Readonly<Record<string, Tensor>>

/** One side as the device holds it. */
interface DeviceSide {
  readonly side: AlsSide
  readonly batched: AlsBatchedSide
  /** Padded ratings of each batch. */
  ratings: readonly Tensors[]
  /** Present rows of each batch. */
  rows: Tensor[]
  /** `factors`, `bias` and `gram` as the other side's solve takes them. */
  design: Tensors
  readonly gather: GpuGraph
}

/**
 * Graphs that both sides run. They stay open as long as their outputs are in use: a device tensor
 * that outlives its session crashes the process.
 */
interface SharedGraphs {
  readonly solve: GpuGraph
  readonly upload: GpuGraph
}

/**
 * Solves both sides of a shared problem on a GPU. Ratings and factors go there once; a half iteration
 * brings back two numbers a row, and the rows when they are asked for.
 */
export class GpuAlsSolver implements AsyncDisposable {
  private readonly runtime: GpuRuntime
  private readonly share: AlsShare
  private readonly graphs: SharedGraphs
  private readonly sides: Readonly<Record<AlsSideName, DeviceSide>>

  private constructor(
    runtime: GpuRuntime,
    share: AlsShare,
    graphs: SharedGraphs,
    sides: Readonly<Record<AlsSideName, DeviceSide>>,
  ) {
    this.runtime = runtime
    this.share = share
    this.graphs = graphs
    this.sides = sides
  }

  /**
   * Compiles the graphs and moves ratings and starting rows to the device, in batches that gather
   * `batchFloats` at most. Throws GPU_FAILED.
   */
  static async create(
    runtime: GpuRuntime,
    share: AlsShare,
    batchFloats = BATCH_FLOATS,
  ): Promise<GpuAlsSolver> {
    const shape = shapeOf(share)
    const places = UPLOADED.map((name) => [`${name}There`, 'device'] as const)
    const graphs = {
      solve: await runtime.open(alsSolveGraph(shape), { rows: 'device', errors: 'device' }),
      upload: await runtime.open(alsUploadGraph(), Object.fromEntries(places)),
    }
    const open = async (side: AlsSide): Promise<DeviceSide> => {
      const batched = batchSide(side, share.unknowns, batchFloats)
      const gather = await runtime.open(alsGatherGraph(shape, batched.batches.length), {
        ...Object.fromEntries(designOf(share).map((name) => [name, 'device'] as const)),
        ...{ allRows: 'here', allErrors: 'here' },
      })
      return { side, batched, ratings: [], rows: [], design: {}, gather }
    }
    const sides = { users: await open(share.users), items: await open(share.items) }
    const solver = new GpuAlsSolver(runtime, share, graphs, sides)
    await solver.upload()
    return solver
  }

  /** Solves a side's rows; writes their errors, and the rows themselves if wanted, to the share. */
  async solve(name: AlsSideName, isWanted: boolean): Promise<void> {
    const own = this.sides[name]
    const { design } = this.sides[name === 'users' ? 'items' : 'users']
    const errors: Tensor[] = []
    for (const [i, ratings] of own.ratings.entries()) {
      const start = own.rows[i] as Tensor
      const solved = await this.graphs.solve.run({ ...ratings, ...design, start }, [
        'rows',
        'errors',
      ])
      start.dispose()
      own.rows[i] = solved['rows'] as Tensor
      errors.push(solved['errors'] as Tensor)
    }
    await this.gatherSide(own, errors, isWanted)
    for (const tensor of errors) tensor.dispose()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const side of Object.values(this.sides)) {
      const tensors = [...side.rows, ...Object.values(side.design)]
      for (const ratings of side.ratings) tensors.push(...Object.values(ratings))
      for (const tensor of tensors) tensor.dispose()
      await side.gather[Symbol.asyncDispose]()
    }
    await this.graphs.solve[Symbol.asyncDispose]()
    await this.graphs.upload[Symbol.asyncDispose]()
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
      await this.gatherSide(own, none, false, false)
    }
  }

  private async uploadRatings(
    { side }: DeviceSide,
    batch: AlsBatch,
    otherPositions: Uint32Array,
  ): Promise<Tensors> {
    const { float32, int32 } = this.runtime
    const values = batchRatings(this.share, side, batch, otherPositions)
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
  private startOf(side: AlsSide, { rows }: AlsBatch): Tensor {
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

  /** Makes a side's design from its batches and copies what is wanted to the share. */
  private async gatherSide(
    own: DeviceSide,
    errors: readonly Tensor[],
    isWanted: boolean,
    hasErrors = true,
  ): Promise<void> {
    const inputs: Record<string, Tensor> = {}
    for (const [i, tensor] of errors.entries()) {
      inputs[`errors${i}`] = tensor
      inputs[`rows${i}`] = own.rows[i] as Tensor
    }
    const design = designOf(this.share)
    const outputs = [...design, 'allErrors', ...(isWanted ? ['allRows'] : [])]
    const result = await own.gather.run(inputs, outputs)
    for (const tensor of Object.values(own.design)) tensor.dispose()
    own.design = Object.fromEntries(design.map((name) => [name, result[name] as Tensor]))
    if (hasErrors) this.writeErrors(own, result['allErrors']?.data as Float32Array)
    if (isWanted) this.writeRows(own, result['allRows']?.data as Float32Array)
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

function shapeOf(share: AlsShare): AlsGraphShape {
  const { unknowns, biased, cgSteps, regularization, biasRegularization } = share
  const isImplicit = share.implicit !== undefined
  return { unknowns, biased, isImplicit, cgSteps, regularization, biasRegularization }
}

/** What a side's solve takes of the other side. */
function designOf(share: AlsShare): string[] {
  const bias = share.biased ? ['bias'] : []
  return ['factors', ...bias, ...(share.implicit === undefined ? [] : ['gram'])]
}
