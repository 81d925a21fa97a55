import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WeirError } from '../../../src/core/errors.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { nodeFileSystem } from '../../../src/files/node-file-system.ts'
import type {
  DecisionRecord,
  DecisionSink,
} from '../../../src/inference/pipelines/decision-record.ts'
import { PipelineEngine } from '../../../src/inference/pipelines/engine.ts'
import type { Deployment } from '../../../src/inference/port/deployment.ts'
import type { InferenceEngine } from '../../../src/inference/port/engine.ts'
import type { ModelId } from '../../../src/inference/port/model.ts'
import type { InferAnswer, InferRequest } from '../../../src/inference/port/request.ts'
import type { ModelSignature } from '../../../src/inference/port/signature.ts'
import type { Tensor } from '../../../src/inference/port/tensor.ts'
import { selectorOf } from '../../../src/inference/selectors/named.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

/** What a model of a test is: its scores, or a function of the request, and what it takes and gives. */
export interface TestModel {
  readonly version?: number
  readonly signature?: ModelSignature
  readonly answers: readonly number[] | ((request: InferRequest) => Promise<readonly number[]>)
}

/** A float32 tensor. */
export function floats(name: string, shape: readonly number[], values: readonly number[]): Tensor {
  return { name, datatype: 'FP32', shape, data: new Uint8Array(Float32Array.from(values).buffer) }
}

/** The numbers of a float32 tensor. */
export const valuesOf = ({ data }: Tensor): number[] => [...new Float32Array(data.slice().buffer)]

/** Models that take `x` and give two scores. */
const TWO_SCORES: ModelSignature = {
  inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 1] }],
  outputs: [{ name: 'p', datatype: 'FP32', shape: [-1, 2] }],
}

/** An engine whose models are functions of the test. */
class TestModels implements InferenceEngine {
  readonly models_: Map<string, TestModel>
  /** Names of the models that were asked, in order. */
  readonly asked: string[] = []

  constructor(models: Readonly<Record<string, TestModel>>) {
    this.models_ = new Map(Object.entries(models))
  }

  model(id: ModelId) {
    const { signature = TWO_SCORES } = this.models_.get(id.name) ?? {}
    return { id, signature, deployment: { sloMs: 1000 } }
  }

  async infer(request: InferRequest): Promise<InferAnswer> {
    const { name, version } = request.model
    const model = this.models_.get(name)!
    this.asked.push(name)
    const scores = Array.isArray(model.answers)
      ? model.answers
      : await (model.answers as Extract<TestModel['answers'], (...all: never) => unknown>)(request)
    const [output] = (model.signature ?? TWO_SCORES).outputs
    const outputs = [floats(output!.name, [scores.length / 2, 2], scores)]
    return { outputs, version, queueMs: 0, runMs: 1, batchItems: 1, flags: {} }
  }

  statistics() {
    return []
  }

  models() {
    return []
  }

  load(): never {
    throw new Error('no model is loaded')
  }

  parts(): never {
    throw new Error('no model has parts')
  }

  async unload(): Promise<void> {}

  measure(): never {
    throw new Error('no model is measured')
  }

  link(): never {
    throw new Error('no thread is linked')
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** A pipeline over models of a test, on a clock that stands still. */
export class PipelineHarness implements AsyncDisposable {
  readonly clock = new ManualClock()
  readonly models: TestModels
  readonly engine: PipelineEngine
  /** The decisions of the pipeline, where it names a topic. */
  readonly decisions: DecisionRecord[] = []
  private readonly sink: DecisionSink = {
    lost: 0,
    write: (record) => this.decisions.push(record),
  }
  private readonly folder: string
  private version = 0

  private constructor(folder: string, models: Readonly<Record<string, TestModel>>) {
    this.folder = folder
    this.models = new TestModels(models)
    this.engine = new PipelineEngine({
      engine: this.models,
      files: nodeFileSystem,
      clock: this.clock,
      random: seededRandom(7),
      openSink: async () => this.sink,
      openSelector: ({ by, parameters }) => selectorOf(by, parameters),
      models: {
        resolve: (reference) => this.resolve(reference),
        isComing: () => false,
        hold: () => {},
      },
    })
  }

  static async open(models: Readonly<Record<string, TestModel>>): Promise<PipelineHarness> {
    return new PipelineHarness(await mkdtemp(join(tmpdir(), 'weir-pipeline-')), models)
  }

  /** Loads the next version of the pipeline. */
  async load(text: string, deployment: Partial<Deployment> = {}): Promise<ModelSignature> {
    const file = join(this.folder, 'pipeline.yaml')
    await writeFile(file, text)
    const id = { name: 'pipe', version: ++this.version }
    const loading = this.engine.load(id, { kind: 'pipeline', file }, { sloMs: 100, ...deployment })
    // A model that is missing may still show up, for a while.
    const passing = this.pass(loading)
    return await loading.finally(() => passing)
  }

  /** Asks the newest version. */
  ask(terms: Partial<InferRequest> = {}): Promise<InferAnswer> {
    const model = { name: 'pipe', version: this.version }
    return this.engine.infer({ model, inputs: [floats('x', [1, 1], [1])], ...terms })
  }

  /** Gives a reward to an answer. */
  reward(answer: InferAnswer, reward: number, label?: number) {
    const decision = answer.flags.decision!.id
    return this.engine.observe({ name: 'pipe', version: this.version }, { decision, reward, label })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.engine.close()
    await rm(this.folder, { recursive: true })
  }

  private resolve(reference: string): ModelId {
    const model = this.models.models_.get(reference)
    if (model !== undefined) return { name: reference, version: model.version ?? 1 }
    throw new WeirError('UNKNOWN_MODEL', `no model is named "${reference}"`)
  }

  /** Lets the clock go on until a promise has settled. */
  private async pass(loading: Promise<unknown>): Promise<void> {
    let isOver = false
    const end = (): void => {
      isOver = true
    }
    loading.then(end, end)
    while (!isOver) {
      await new Promise((resolve) => setImmediate(resolve))
      this.clock.advance(100)
    }
  }
}
