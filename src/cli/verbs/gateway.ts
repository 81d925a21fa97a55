import { resolve } from 'node:path'
import { LOG_LEVELS } from '../../gateway/http/logging.ts'
import type { GatewaySettings } from '../../gateway/run.ts'
import { type ModelControlRights, modelControlText } from '../../http/access/model-control.ts'
import { queryAccessOf, watchQueryAccess } from '../../jobs/query-access.ts'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import { registryPlace } from '../../jobs/serve/registry-place.ts'
import { jobAddressOptions } from '../command/address.ts'
import { type Command, Flags, UsageError, unlessInterrupted } from '../command/command.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { address, addressOf, addressToOpen, input, path } from '../flag-kinds/places.ts'
import { topicName, word } from '../flag-kinds/words.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { KAFKA_OPTIONS, topicsPlaceOf } from '../flags/kafka.ts'
import {
  ALLOW_ORIGIN,
  allowedOriginsOf,
  LISTENER_OPTIONS,
  listenerOf,
  MODEL_CONTROL_OPTIONS,
} from '../flags/listener.ts'
import { CONNECTION_OPTIONS, connectionOf } from '../flags/query.ts'
import { modelControlOf } from '../inference/model-control.ts'
import { packageVersion } from '../text/package-version.ts'

/** Flags about who may use the gateway. Its clients have tokens of the file only. */
const ACCESS_OPTIONS = Object.fromEntries(
  Object.entries(LISTENER_OPTIONS).filter(([name]) => name !== 'token' && name !== 'token-file'),
)

/** `weir gateway`: serves a running job over HTTP. */
export const gatewayCommand: Command = {
  name: 'gateway',
  summary: 'Serve a running job over HTTP: predictions, observations, state',
  stopsItself: true,
  options: {
    listen: {
      type: 'string',
      value: addressToOpen,
      default: '127.0.0.1:8080',
      help: 'Address of the gateway; port 0 for any free port',
    },
    threads: {
      type: 'string',
      value: wholeNumber({ min: 1, max: 64 }),
      default: '1',
      help: 'Threads that listen on the port',
    },
    ...jobAddressOptions(),
    observations: {
      type: 'string',
      value: topicName,
      help: 'Topic that takes observations (default: the gateway takes none)',
    },
    repository: {
      type: 'string',
      value: path('DIR'),
      help: 'Folder of models that /register adds to, with --model-control (default: the gateway takes none)',
    },
    histories: {
      type: 'string',
      value: address,
      help: 'Query port of "weir run histories", for routes about the items of users',
    },
    rescorer: {
      type: 'string',
      value: input(),
      help: 'Module whose default export gives the items of lists other values, or leaves some out; it runs as code in the gateway (default: none)',
    },
    routes: {
      type: 'string',
      value: input(),
      help: 'Module whose default export has HTTP paths of your own below /app/, which read states; it runs as code in the gateway (default: none)',
    },
    model: {
      type: 'string',
      value: topicName,
      help: 'Model of the registry whose versions the routes below /v1/models list and switch (default: none)',
    },
    'log-level': {
      type: 'string',
      value: word(LOG_LEVELS, 'LEVEL'),
      default: 'warn',
      help: 'Log to standard error, a JSON object a line: silent, error, warn, info or debug',
    },
    'allow-origin': ALLOW_ORIGIN,
    ...MODEL_CONTROL_OPTIONS,
    ...CONNECTION_OPTIONS,
    ...ACCESS_OPTIONS,
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `The gateway keeps no state: many of them can serve one job. /docs is a page to try the routes,
/openapi.json describes them.

Examples:
  weir gateway
  weir gateway --observations observations --threads 2
  weir gateway --histories 127.0.0.1:9070
  weir gateway --rescorer ./in-stock-first.ts
  weir gateway --routes ./routes.ts
  weir gateway --model als-model --tokens tokens.json
  curl localhost:8080/v1/predict/1/50
  curl localhost:8080/v1/observe --json '{"user":"1","item":"50","rating":5}'`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const { host, port } = addressOf(flags.string('listen'))
    // --token-file is the token that the gateway shows to the job, not one that it accepts.
    const { token: _, ...accessOptions } = listenerOf(flags, io)
    const { GatewayThreads } = await import('../../gateway/threads.ts')
    const auditFile = flags.optional('audit-file')
    const listener = { ...accessOptions, what: 'the gateway', host }
    const { access, tls } = await queryAccessOf(listener, undefined)
    const rights = rightsOf(flags, access.needsToken)
    const allowedOrigins = allowedOriginsOf(flags, access.needsToken)
    await using gateway = await unlessInterrupted(
      GatewayThreads.start(
        {
          ...sourcesOf(flags),
          modelControl: { ...rights, hosts: [...rights.hosts.places], ...repositoryOf(flags) },
          host,
          port,
          access,
          allowedOrigins,
          ...(auditFile === undefined ? {} : { auditFile }),
          version: packageVersion(),
          logLevel: flags.choice('log-level', LOG_LEVELS),
          ...(tls === undefined ? {} : { tls }),
        },
        flags.number('threads'),
      ),
      io,
    )
    const stopWatching = watchQueryAccess(listener, access, (tokens) =>
      gateway.replaceAccess(tokens),
    )
    const url = `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${gateway.port}`
    if (flags.boolean('json')) {
      io.out(JSON.stringify({ event: 'started', port: gateway.port, url }))
    } else {
      io.err(`gateway: serving ${url}; try it at ${url}/docs; press Ctrl-C to stop`)
      if (rights.isAllowed) io.err(`gateway: ${modelControlText(rights)}`)
    }
    await Promise.race([gateway.failure, io.interrupted]).finally(stopWatching)
    return 0
  },
}

/** The job that the gateway serves, and what it serves besides. */
function sourcesOf(
  flags: Flags,
): Pick<GatewaySettings, 'job' | 'histories' | 'models' | 'observations' | 'rescorer' | 'routes'> {
  const topic = flags.optional('observations')
  const histories = flags.optional('histories')
  const model = flags.optional('model')
  const rescorer = flags.optional('rescorer')
  const routes = flags.optional('routes')
  const job = connectionOf(flags)
  return {
    job,
    ...(histories === undefined ? {} : { histories: { ...job, ...addressOf(histories) } }),
    ...(rescorer === undefined ? {} : { rescorer: resolve(rescorer) }),
    ...(routes === undefined ? {} : { routes: resolve(routes) }),
    ...(model === undefined ? {} : { models: modelPlaceOf(flags, model) }),
    ...(topic === undefined ? {} : { observations: { place: topicsPlaceOf(flags), topic } }),
  }
}

/** What clients may change in the models. Throws UsageError for a folder that no one may add to. */
function rightsOf(flags: Flags, hasTokens: boolean): ModelControlRights {
  const rights = modelControlOf(flags, hasTokens)
  if (rights.isAllowed || flags.optional('repository') === undefined) return rights
  throw new UsageError(
    '--repository is for /register, which needs --model-control and --tokens FILE',
  )
}

function repositoryOf(flags: Flags): { readonly repository?: string } {
  const repository = flags.optional('repository')
  return repository === undefined ? {} : { repository: resolve(repository) }
}

/** The topic and the registry of a model. */
function modelPlaceOf(flags: Flags, model: string): NonNullable<GatewaySettings['models']> {
  const topics = topicsPlaceOf(flags)
  const { root } = dataDirectory(flags.string('data-dir'))
  return { model, topics, registry: registryPlace(topics, root) }
}
