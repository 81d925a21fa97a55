import { randomInt } from 'node:crypto'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { systemClock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { ResourceStack } from '../../core/lifetime/resource-stack.ts'
import { MetricGroup } from '../../core/metrics.ts'
import { seededRandom } from '../../core/random.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import type { AccessControl } from '../../http/access/control.ts'
import { httpAccess } from '../../http/access/people/http-access.ts'
import { PipelineEngine } from '../../inference/pipelines/engine.ts'
import type { InferenceEngine } from '../../inference/port/engine.ts'
import { selectorOf } from '../../inference/selectors/named.ts'
import type { ModelsBackend } from '../../serving/port/models-backend.ts'
import type { QueryBackend } from '../../serving/port/query-backend.ts'
import { refusingReader } from '../../serving/port/refusing-reader.ts'
import { QueryServer } from '../../serving/server/query-server.ts'
import { MAX_FRAME_BYTES } from '../../wire/frame.ts'
import type { ModelReader } from '../../wire/model-reader.ts'
import { MODEL_KIND, type RoutingTable } from '../../wire/routing-table.ts'
import type { AskedModel } from '../asked-models.ts'
import { DecisionLogs } from '../pipelines/decision-logs.ts'
import { type QueryAccessOptions, queryAccessOf, watchQueryAccess } from '../query-access.ts'
import type { ModelEvent, SequenceEvent } from './events.ts'
import { LocalModelsState } from './local-state.ts'
import type { KeptCheckpoints } from './sequence-checkpoints.ts'
import { ServedModels } from './served-models.ts'

/** Name of the job in the routing table. */
const MODELS_JOB = 'models'

/** Backend of a query server that serves models and no state. */
class ModelsQueryBackend implements QueryBackend {
  readonly models: ModelsBackend
  readonly reader: ModelReader
  private readonly epoch: () => number
  private readonly port: () => number

  /** `port`: the port of the server, once it listens. */
  constructor(models: ModelsBackend, epoch: () => number, port: () => number) {
    this.models = models
    this.epoch = epoch
    this.port = port
    this.reader = refusingReader(noState)
  }

  open(): never {
    throw noState()
  }

  async predictDeferred(): Promise<never> {
    throw noState()
  }

  async topKRanked(): Promise<never> {
    throw noState()
  }

  async scanPage(): Promise<never> {
    throw noState()
  }

  routingEpoch(): number {
    return this.epoch()
  }

  routing(): RoutingTable {
    return {
      epoch: this.epoch(),
      job: MODELS_JOB,
      endpoints: [{ server: 'models', host: '', port: this.port() }],
      states: this.models.states().map((state) => ({
        ...state,
        kind: MODEL_KIND,
        dimension: 0,
        versions: [...state.versions],
      })),
      sources: [],
    }
  }
}

function noState(): WeirError {
  return new WeirError(
    'UNKNOWN_STATE',
    'this process serves models, not state: send INFER, or ask a job that serves state',
  )
}

/** Options of a process that serves the models of a repository. */
export interface ModelsProcessOptions extends QueryAccessOptions {
  /** Folder of the repository. */
  readonly repository: string
  /** Port for queries; 0 lets the system choose. */
  readonly port: number
  readonly engine: InferenceEngine
  /** Time between two looks at the repository, in ms. @default 500 */
  readonly scanMs?: number
  /** Opens the place of the topics that pipelines write their decisions to. @default pipelines write none */
  readonly openTopics?: () => Promise<TopicStore>
  /** Called when a model changes. @default ignored */
  readonly onEvent?: (event: ModelEvent) => void
  /** Checkpoints of what models carry for sequences. @default none: a restart ends all sequences */
  readonly checkpoints?: KeptCheckpoints
  /** Called when something of these checkpoints changes. @default ignored */
  readonly onSequenceEvent?: (event: SequenceEvent) => void
}

/** Bytes of answers that a client may leave unread; images and embeddings are large. */
const OUTPUT_BYTES = 16 * 1024 * 1024
/** Bytes of requests of one connection that may wait. */
const WAITING_BYTES = 4 * MAX_FRAME_BYTES

/** Served models of a repository, and the port that answers for them. */
export class ModelsProcess implements AsyncDisposable {
  /** Port for queries. */
  readonly port: number
  /** Who may use the process. */
  readonly access: AccessControl
  /** The models as a gateway on this thread reads them. */
  readonly state: LocalModelsState
  /** Resolves when each model that was there at the start is loaded or has failed. */
  readonly loaded: Promise<void>
  private readonly models: ServedModels
  private readonly resources: ResourceStack

  private constructor(
    {
      port,
      access,
      state,
      models,
    }: Pick<ModelsProcess, 'port' | 'access' | 'state'> & {
      readonly models: ServedModels
    },
    resources: ResourceStack,
  ) {
    this.port = port
    this.access = access
    this.state = state
    this.models = models
    this.resources = resources
    this.loaded = models.start()
  }

  /** As `open`; resolves when each model that is there is loaded or has failed. */
  static async start(options: ModelsProcessOptions): Promise<ModelsProcess> {
    const started = await ModelsProcess.open(options)
    await started.loaded
    return started
  }

  /**
   * Listens, and begins to load the models that are in the repository. A model that cannot be loaded is an event, and
   * the others are served. The engine belongs to the process from now on. Rejects with FILE_NOT_FOUND when the
   * repository is missing, with CONNECTOR_FAILED when the port is taken, and as `SequenceCheckpoints.open`.
   */
  static async open(options: ModelsProcessOptions): Promise<ModelsProcess> {
    const { engine, repository, checkpoints, onEvent = () => {} } = options
    const { onSequenceEvent = () => {} } = options
    await using started = new ResourceStack()
    started.use(engine)
    const { access, tls } = await queryAccessOf(options, undefined)
    await nodeFileSystem.list(repository)
    const logs = started.use(
      new DecisionLogs({
        openTopics: options.openTopics,
        clock: systemClock,
        onFailure: (topic, error) => onEvent({ event: 'decisions', topic, error }),
      }),
    )
    const pipelines = new PipelineEngine({
      engine,
      files: nodeFileSystem,
      clock: systemClock,
      random: seededRandom(randomInt(2 ** 32)),
      models: {
        resolve: (reference) => models.names.resolve(reference),
        isComing: (reference) => models.names.isComing(reference),
        hold: (reference, isNeeded) => models.names.hold(reference, isNeeded),
      },
      openSink: (topic) => logs.open(topic),
      openSelector: ({ by, parameters }) => selectorOf(by, parameters),
    })
    started.defer(() => pipelines.close())
    const models: ServedModels = started.use(
      new ServedModels({
        engine: pipelines,
        numbersOf: (id) => pipelines.numbersOf(id),
        repository,
        files: nodeFileSystem,
        clock: systemClock,
        onEvent,
        ...(options.scanMs === undefined ? {} : { scanMs: options.scanMs }),
      }),
    )
    // Before the ports: a request must not find a sequence that is still to be restored.
    if (checkpoints !== undefined) {
      const { sequences } = models
      const { SequenceCheckpoints } = await import('./sequence-checkpoints.ts')
      const facts = { sequences, repository, checkpoints, clock: systemClock }
      const opened = await SequenceCheckpoints.open({ ...facts, onEvent: onSequenceEvent })
      if (opened !== undefined) started.use(opened)
    }
    const backend = new ModelsQueryBackend(
      models,
      () => models.epoch,
      () => server.port,
    )
    const server: QueryServer = new QueryServer(backend, {
      host: options.host ?? '127.0.0.1',
      ports: [options.port],
      server: MODELS_JOB,
      access,
      limits: {
        maxFrameBytes: MAX_FRAME_BYTES,
        maxOutputBytes: OUTPUT_BYTES,
        maxOutstandingBytes: WAITING_BYTES,
      },
      metrics: new MetricGroup(),
      ...(options.audit === undefined ? {} : { audit: options.audit }),
      ...(tls === undefined ? {} : { tls }),
    })
    started.use(server)
    const port = await server.listen()
    const control = httpAccess(access, systemClock, options.audit)
    const stopWatching = watchQueryAccess(options, access, (tokens) => {
      server.replaceAccess(tokens)
      control.replace(tokens)
    })
    started.defer(stopWatching)
    const state = new LocalModelsState(backend, (model, reward) =>
      pipelines.observe(models.resolve(model), reward),
    )
    return new ModelsProcess({ port, access: control, state, models }, started.move())
  }

  /** The models of the repository, with the settings of their live versions. */
  list(): readonly AskedModel[] {
    return this.models.asked()
  }

  /** Answers what is under way, then ends the workers. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.resources[Symbol.asyncDispose]()
  }
}
