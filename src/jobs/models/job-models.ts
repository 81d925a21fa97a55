import { type Clock, systemClock } from '../../core/clock.ts'
import { asWeirError } from '../../core/errors.ts'
import { ResourceStack } from '../../core/lifetime/resource-stack.ts'
import { aFunction, name, positiveMilliseconds, required } from '../../core/options/kinds.ts'
import { CLOCK } from '../../core/options/ports.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import type { InferenceEngine } from '../../inference/port/engine.ts'
import type { LinkEvent, LinkRequest } from '../../operators/inference/link-event.ts'
import type {
  OperatorCoordinator,
  OperatorCoordinatorContext,
} from '../../runtime/protocol/operator-coordinator.ts'
import type { AskedModel, AskedModels } from '../asked-models.ts'
import type { ModelEvent } from './events.ts'
import { ServedModels } from './served-models.ts'

/** Options of the models that a job asks. */
export interface JobModelsOptions {
  /** Folder of the repository. */
  readonly repository: string
  /** Opens the engine, which belongs to the models from then on. */
  readonly openEngine: () => Promise<InferenceEngine>
  /** Time between two looks at the repository, ms. @default 500 */
  readonly scanMs?: number
  /** @default systemClock */
  readonly clock?: Clock
  /** Called when a model changes. @default ignored */
  readonly onEvent?: (event: ModelEvent) => void
}

const JOB_MODELS: OptionShape<JobModelsOptions> = {
  repository: required(name),
  openEngine: required(aFunction()),
  scanMs: positiveMilliseconds,
  clock: CLOCK,
  onEvent: aFunction(),
}

interface Opened {
  readonly engine: InferenceEngine
  readonly served: ServedModels
}

/**
 * The models that the slots of a job ask: a repository in the process of the job. Each subtask is a producer of
 * the queues in shared memory. Nothing is opened for a job that asks no model.
 */
export class JobModels implements AskedModels {
  private readonly options: JobModelsOptions
  private readonly resources = new ResourceStack()
  private readonly links = new Set<ModelLinks>()
  private opening: Promise<Opened> | undefined
  private served: ServedModels | undefined

  constructor(options: JobModelsOptions) {
    checkOptions('new JobModels', JOB_MODELS, options)
    this.options = options
  }

  /** A coordinator for one operator that asks a model. */
  readonly coordinator = (): OperatorCoordinator => {
    this.opening ??= this.open()
    // Every subtask that asks is answered with the error.
    this.opening.catch(() => {})
    const links = new ModelLinks(this.opening)
    this.links.add(links)
    return links
  }

  list(): readonly AskedModel[] {
    return this.served?.asked() ?? []
  }

  /** Ends the links, then the workers. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.opening?.catch(() => {})
    for (const links of this.links) links.end()
    await this.resources[Symbol.asyncDispose]()
  }

  private async open(): Promise<Opened> {
    const { repository, openEngine, clock = systemClock, scanMs, onEvent = () => {} } = this.options
    await nodeFileSystem.list(repository)
    const engine = this.resources.use(await openEngine())
    const served = this.resources.use(
      new ServedModels({
        engine,
        repository,
        files: nodeFileSystem,
        clock,
        onEvent,
        onChange: () => {
          for (const links of this.links) links.route()
        },
        ...(scanMs === undefined ? {} : { scanMs }),
      }),
    )
    this.served = served
    // A model that takes long to load holds up no other; its subtasks get the route when it is live.
    await served.look()
    return { engine, served }
  }
}

interface Linked {
  readonly model: string
  readonly link: Disposable
  readonly send: (event: LinkEvent) => void
  /** The route that the subtask has, as JSON. */
  route: string
}

/** The links of the subtasks of one operator in the present attempt. */
class ModelLinks implements OperatorCoordinator {
  private readonly opening: Promise<Opened>
  private readonly linked = new Map<number, Linked>()
  private context: OperatorCoordinatorContext | undefined
  private served: ServedModels | undefined

  constructor(opening: Promise<Opened>) {
    this.opening = opening
  }

  start(context: OperatorCoordinatorContext): void {
    this.end()
    this.context = context
  }

  handleEvent(subtask: number, event: unknown): void {
    const { context } = this
    if (context !== undefined) void this.link(subtask, event as LinkRequest, context)
  }

  /** Gives up the links of the attempt, whose subtasks have ended. */
  end(): void {
    for (const { link } of this.linked.values()) link[Symbol.dispose]()
    this.linked.clear()
    this.context = undefined
  }

  /** Says to each subtask which version answers, if that has changed. */
  route(): void {
    const { served } = this
    if (served === undefined) return
    for (const linked of this.linked.values()) {
      const event = routeOf(served, linked.model)
      const route = JSON.stringify(event)
      if (route === linked.route) continue
      linked.route = route
      linked.send(event)
    }
  }

  private async link(
    subtask: number,
    { model }: LinkRequest,
    context: OperatorCoordinatorContext,
  ): Promise<void> {
    const send = (event: LinkEvent): void => context.sendEvent(subtask, event)
    try {
      const { engine, served } = await this.opening
      if (this.context !== context) return
      this.served = served
      const link = engine.link((message) => send({ kind: 'engine', message }))
      this.linked.set(subtask, { model, link, send, route: '' })
      this.route()
    } catch (error) {
      send(refused(error))
    }
  }
}

function routeOf(served: ServedModels, model: string): LinkEvent {
  try {
    return { kind: 'route', id: served.resolve(model) }
  } catch (error) {
    return refused(error)
  }
}

function refused(error: unknown): LinkEvent {
  const { code, message } = asWeirError(error, 'MODEL_NOT_LOADED')
  return { kind: 'no-route', code, message }
}
