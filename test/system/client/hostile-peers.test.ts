import { describe, vi } from 'vitest'
import { RestClient } from '../../../src/cli/cluster/rest-client.ts'
import { WeirClient } from '../../../src/client/weir-client.ts'
import { kafkaConnector } from '../../../src/connectors/kafka/client/connection.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { WeirError } from '../../../src/core/errors.ts'
import { SpanExporter } from '../../../src/core/tracing/exporter.ts'
import { samplerOf } from '../../../src/core/tracing/sampler.ts'
import { parseWebHdfsUrl } from '../../../src/files/webhdfs/address.ts'
import { WebHdfsClient } from '../../../src/files/webhdfs/client.ts'
import { People } from '../../../src/http/access/people/people.ts'
import { parsePlace } from '../../../src/inference/places/address.ts'
import { openPlace } from '../../../src/inference/places/open.ts'
import { loadOpenAi } from '../../../src/inference/runners/openai.ts'
import { loadRemote } from '../../../src/inference/runners/remote.ts'
import { RemoteServer } from '../../../src/inference/runners/remote-exchange.ts'
import { hostilePeerContract } from '../../contracts/hostile-peer.ts'
import { rsaKey, signed } from '../../http/access/people/issuer.ts'

const MIB = 1024 * 1024

hostilePeerContract('the client of a remote model that loads it', {
  ask: (port) => {
    const source = { kind: 'remote', url: `http://127.0.0.1:${port}`, model: 'm' } as const
    return loadRemote(source, { threads: 1, batches: true })
  },
  mostBytes: MIB,
  codes: ['MODEL_NOT_LOADED', 'REMOTE_MODEL_FAILED'],
})

hostilePeerContract('the client of a remote model that runs it', {
  ask: async (port) => {
    const server = new RemoteServer(`http://127.0.0.1:${port}`)
    const request = { path: '/', body: [Buffer.from('{}')], timeoutMs: 500, maxBytes: MIB }
    return await server.exchange(request).finally(() => server.close())
  },
  mostBytes: MIB,
  codes: ['MODEL_NOT_LOADED', 'REMOTE_MODEL_FAILED'],
  // What an answer must have is checked by the model.
  fine: ['answers what no one asked'],
})

hostilePeerContract('the client of WebHDFS', {
  ask: async (port) => {
    const address = parseWebHdfsUrl(`hdfs://127.0.0.1:${port}/models`)
    const client = new WebHdfsClient(address, { retryForMs: 100, timeoutMs: 500 })
    return await client.list('/models').finally(() => client.close())
  },
  // The list of a folder.
  mostBytes: 64 * MIB,
  codes: ['CONNECTOR_FAILED'],
  mayQuote: true,
})

hostilePeerContract('the exporter of spans', {
  ask: async (port) => {
    const warnings: string[] = []
    const settings = {
      url: `http://127.0.0.1:${port}/v1/traces`,
      ...{ headers: {}, resource: {}, delayMs: 10_000, timeoutMs: 500 },
      sampler: samplerOf(undefined, undefined),
    }
    const exporter = new SpanExporter(settings, (warning) => warnings.push(warning))
    exporter.add({
      ...{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), parentSpanId: '', name: 'x' },
      ...{ kind: 'server', startMs: 0, endMs: 1, attributes: {} },
    } as unknown as Parameters<typeof exporter.add>[0])
    await exporter.flush()
    throw new WeirError('UNAVAILABLE', warnings.join('\n'))
  },
  mostBytes: MIB,
  codes: ['UNAVAILABLE'],
  // Who answers 200 has the spans, whatever else it says.
  fine: ['answers what no one asked', 'answers with no JSON'],
})

hostilePeerContract('the client of the query port', {
  ask: (port) => WeirClient.connect({ port, deadlineMs: 500 }),
  mostBytes: MIB,
  codes: ['UNAVAILABLE', 'PROTOCOL_ERROR', 'FRAME_TOO_LARGE', 'DEADLINE_EXCEEDED'],
})

hostilePeerContract('the client of a broker', {
  ask: (port) =>
    kafkaConnector({ brokers: `127.0.0.1:${port}`, connectTimeoutMs: 500, requestTimeoutMs: 500 })(
      { host: '127.0.0.1', port },
      new AbortController().signal,
    ),
  mostBytes: MIB,
  codes: ['CONNECTOR_FAILED'],
})

hostilePeerContract('the client of a JobManager', {
  ask: (port) => {
    const limits = { silenceMs: 300, deadlineMs: 600, mostBytes: MIB }
    return new RestClient(`http://127.0.0.1:${port}`, { limits }).jobs()
  },
  mostBytes: MIB,
  codes: ['UNAVAILABLE', 'CONNECTOR_FAILED'],
  mayQuote: true,
})

hostilePeerContract("the client of a model that speaks OpenAI's interface", {
  ask: (port) =>
    loadOpenAi(
      { kind: 'remote', url: `http://127.0.0.1:${port}`, model: 'm' },
      { remoteKey: undefined },
    ),
  mostBytes: MIB,
  codes: ['MODEL_NOT_LOADED', 'REMOTE_MODEL_FAILED'],
  // Where no list comes, the server may have the model.
  fine: ['answers what no one asked'],
})

describe.each([
  ['s3://bucket/nets/', 'AWS_ENDPOINT_URL', ['MALFORMED_DATA']],
  ['hf://owner/net', 'HF_ENDPOINT', ['MALFORMED_DATA']],
  ['mlflow:models:/net/3', 'MLFLOW_TRACKING_URI', ['MALFORMED_DATA', 'UNSUPPORTED']],
  ['oci://127.0.0.1:PORT/net:v1', undefined, ['MALFORMED_DATA', 'UNSUPPORTED']],
])('%s', (address, variable, codes) => {
  hostilePeerContract('the client of a place of models', {
    ask: async (port) => {
      const server = `http://127.0.0.1:${port}`
      const environment = variable === undefined ? {} : { [variable]: server }
      const place = parsePlace(address.replace('PORT', String(port)))!
      const options = { environment, timeoutMs: 500, nowMs: () => systemClock.nowMs() }
      return await openPlace(place, options).list()
    },
    // A list of files.
    mostBytes: 16 * MIB,
    codes: ['CONNECTOR_FAILED', 'ACCESS_DENIED', ...codes],
  })
})

hostilePeerContract('the client of an issuer that signs for people', {
  ask: async (port) => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const issuer = `http://127.0.0.1:${port}`
    const settings = { issuer, audience: 'weir', claim: 'groups', clockSkewSeconds: 0, grants: {} }
    const people = new People({ ...settings, keys: { url: `${issuer}/keys` } }, systemClock)
    const token = signed(rsaKey('one'), { iss: issuer, aud: 'weir', sub: 'a', exp: 2 ** 31 })
    await people.verify(token)
    const texts = warned.mock.calls.map(([text]) => String(text))
    warned.mockRestore()
    throw new WeirError('UNAVAILABLE', texts.join('\n'))
  },
  mostBytes: MIB,
  codes: ['UNAVAILABLE'],
})
