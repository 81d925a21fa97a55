import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { systemClock } from '../../core/clock.ts'
import { type ModelControlRights, modelControlText } from '../../http/access/model-control.ts'
import type { ModelEvent, SequenceEvent } from '../../jobs/models/events.ts'
import type { ModelsProcess } from '../../jobs/models/process.ts'
import type { KeptCheckpoints } from '../../jobs/models/sequence-checkpoints.ts'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import type { CheckpointConfiguration } from '../../runtime/configuration/configuration.ts'
import { parseConfiguration } from '../../runtime/configuration/keys.ts'
import { type CommandIo, type Flags, UsageError, unlessInterrupted } from '../command/command.ts'
import { addressOf } from '../flag-kinds/places.ts'
import { allowedOriginsOf, listenerOf } from '../flags/listener.ts'
import { configurationOf } from '../flags/serving.ts'
import { packageVersion } from '../text/package-version.ts'
import { engineOptionsOf } from './engine-options.ts'
import { modelControlOf } from './model-control.ts'
import { eventJson, eventText } from './model-event.ts'

/** Time between checkpoints where the configuration has only a folder, ms: that of a job. */
const CHECKPOINT_EVERY_MS = 10_000

const IN_MEMORY =
  'models: states of sequences are in memory only: a restart ends all sequences; -D execution.checkpointing.interval=10s keeps them'

/** Name of the process in messages, and of the job that it is for the REST interface. */
const NAME = 'models'

/** Serves the models of `--repository` until Ctrl-C, or until someone cancels it over REST. */
export async function runModels(flags: Flags, io: CommandIo): Promise<number> {
  const json = flags.boolean('json')
  const report = (event: Record<string, unknown>, sentence: string): void =>
    json ? io.out(JSON.stringify(event)) : io.err(sentence)
  // A wrong key is reported before anything is loaded.
  const configuration = configurationOf(flags)
  const { checkpoints } = parseConfiguration(configuration)
  const hasTokens = hasTokensOf(flags, io)
  const modelControl = rightsOf(flags, hasTokens)
  const allowedOrigins = allowedOriginsOf(flags, hasTokens)
  const places = placesOf(flags)
  const repository = flags.string('repository')
  if (!existsSync(repository)) {
    throw new UsageError(`--repository names ${repository}, and there is no such folder`)
  }
  const kept = keptCheckpoints(checkpoints, flags)
  await using models = await unlessInterrupted(openModels(flags, io, { report, kept }), io)
  const place = `${flags.string('host')}:${models.port}`
  report(
    { event: 'started', port: models.port },
    `${NAME}: serving queries on ${place}; press Ctrl-C to stop`,
  )
  await using _gateway = await openGateway(models, flags, {
    io,
    report,
    modelControl,
    allowedOrigins,
    places,
  })
  const { control, rest } = await openRest(models, configuration, io)
  await using _rest = rest
  if (rest !== undefined) report({ event: 'rest', url: rest.url }, `REST interface on ${rest.url}`)
  void models.loaded.then(() => {
    reportLoaded(models, report)
    if (kept === undefined && carriesStates(models)) report({ event: 'sequences' }, IN_MEMORY)
  })
  await Promise.race([io.interrupted, control.canceled])
  control.end()
  return 0
}

type Report = (event: Record<string, unknown>, sentence: string) => void

/** Says how many of the models that were there at the start answer now. */
function reportLoaded(models: ModelsProcess, report: Report): void {
  const all = models.list()
  const live = all.filter(({ info }) => info.liveVersion > 0).length
  report(
    { event: 'ready', live, models: all.length },
    `${NAME}: ${live} of ${all.length} models answer`,
  )
}

/** Whether a model carries a state for sequences. */
function carriesStates(models: ModelsProcess): boolean {
  return models.list().some(({ info }) => info.statistics['sequences'] !== undefined)
}

/**
 * Where and how often the states of sequences are kept: only where the configuration has a folder or a time for checkpoints,
 * because a folder serves one process at a time.
 */
function keptCheckpoints(
  checkpoints: CheckpointConfiguration,
  flags: Flags,
): KeptCheckpoints | undefined {
  const { directory, intervalMs } = checkpoints
  if (directory === undefined && intervalMs === undefined) return undefined
  return {
    ...checkpoints,
    intervalMs: intervalMs ?? CHECKPOINT_EVERY_MS,
    directory: directory ?? dataDirectory(flags.string('data-dir')).checkpoints,
  }
}

async function openModels(
  flags: Flags,
  io: CommandIo,
  { report, kept }: { readonly report: Report; readonly kept: KeptCheckpoints | undefined },
): Promise<ModelsProcess> {
  const options = engineOptionsOf(flags, io)
  const [{ ModelsProcess }, { openInferenceEngine }] = await Promise.all([
    import('../../jobs/models/process.ts'),
    import('../../inference/engine/engine.ts'),
  ])
  const say = (event: ModelEvent | SequenceEvent): void =>
    report({ ...eventJson(event) }, eventText(event))
  return await ModelsProcess.open({
    ...listenerOf(flags, io),
    repository: resolve(flags.string('repository')),
    port: flags.number('port'),
    engine: openInferenceEngine(options),
    openTopics: async () => {
      const { openTopics } = await import('../../connectors/topics/open.ts')
      return await openTopics({ logDirectory: dataDirectory(flags.string('data-dir')).log })
    },
    ...(kept === undefined ? {} : { checkpoints: kept }),
    onEvent: say,
    onSequenceEvent: say,
  })
}

/** Whether clients need a token. */
function hasTokensOf(flags: Flags, io: CommandIo): boolean {
  const { tokensFile, peopleFile, token } = listenerOf(flags, io)
  return (tokensFile ?? peopleFile ?? token) !== undefined
}

/** What clients of the HTTP port may change in the models. Throws UsageError, INVALID_ARGUMENT, ACCESS_DENIED. */
function rightsOf(flags: Flags, hasTokens: boolean): ModelControlRights {
  const rights = modelControlOf(flags, hasTokens)
  if (!rights.isAllowed || flags.optional('http') !== undefined) return rights
  throw new UsageError('--model-control is about the HTTP port; give --http HOST:PORT, too')
}

/** Where the ports of `--http` and `--grpc` are. Throws UsageError. */
function placesOf(flags: Flags) {
  const [http, grpc] = (['http', 'grpc'] as const).map((flag) => {
    const address = flags.optional(flag)
    return address === undefined ? undefined : addressOf(address)
  })
  if (http !== undefined || grpc === undefined) return { http, grpc }
  throw new UsageError(
    '--grpc is beside the HTTP port, which has the metrics; give --http HOST:PORT, too',
  )
}

/** Opens the HTTP port of `--http`, if there is one, and that of `--grpc`. */
async function openGateway(
  models: ModelsProcess,
  flags: Flags,
  {
    io,
    report,
    modelControl,
    allowedOrigins,
    places,
  }: {
    readonly io: CommandIo
    readonly report: Report
    readonly modelControl: ModelControlRights
    readonly allowedOrigins: readonly string[]
    readonly places: ReturnType<typeof placesOf>
  },
): Promise<AsyncDisposable | undefined> {
  const { http, grpc } = places
  if (http === undefined) return undefined
  const { host, port } = http
  const [{ LocalGateway }, { queryAccessOf }] = await Promise.all([
    import('../../gateway/local.ts'),
    import('../../jobs/query-access.ts'),
  ])
  const { tls } = await queryAccessOf(
    { ...listenerOf(flags, io), what: 'the HTTP port', host },
    undefined,
  )
  if (grpc !== undefined) {
    const listener = { ...listenerOf(flags, io), what: 'the gRPC port', host: grpc.host }
    await queryAccessOf(listener, undefined)
  }
  const gateway = await LocalGateway.start({
    state: models.state,
    host,
    port,
    repository: resolve(flags.string('repository')),
    access: models.access,
    modelControl,
    allowedOrigins,
    version: packageVersion(),
    ...(tls === undefined ? {} : { tls }),
    ...(grpc === undefined ? {} : { grpc }),
  })
  const scheme = tls === undefined ? 'http' : 'https'
  const url = `${scheme}://${host.includes(':') ? `[${host}]` : host}:${gateway.port}`
  report(
    { event: 'http', port: gateway.port, url },
    `${NAME}: Open Inference Protocol on ${url}/v2; try it at ${url}/docs; ${modelControlText(modelControl)}`,
  )
  if (gateway.grpcPort !== undefined) {
    const place = `${grpc!.host}:${gateway.grpcPort}`
    report(
      { event: 'grpc', port: gateway.grpcPort },
      `${NAME}: Open Inference Protocol over gRPC on ${place}${tls === undefined ? '' : ', with TLS'}`,
    )
  }
  return gateway
}

/** Opens the REST interface of the process, which shows it as a job. */
async function openRest(
  models: ModelsProcess,
  configuration: Readonly<Record<string, string>>,
  io: CommandIo,
) {
  const [{ serveRestOf }, { ModelsControl }, { jobIdOf }] = await Promise.all([
    import('../serve/rest.ts'),
    import('../../cluster/rest/job/models-control.ts'),
    import('../../jobs/serve/job-id.ts'),
  ])
  const { port, access } = models
  const control = new ModelsControl({
    id: jobIdOf(NAME),
    name: NAME,
    list: () => models.list(),
    configuration,
    queryPort: port,
    clock: systemClock,
  })
  const settings = parseConfiguration(configuration)
  const source = { control, access, port, configuration, settings }
  return { control, rest: await serveRestOf(source, { name: NAME, io }) }
}
