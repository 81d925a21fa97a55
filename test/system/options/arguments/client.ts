import { atLeast, keyOfText, predictInterval } from '../../../../src/client/index.ts'
import { traceProgram, withSpan } from '../../../../src/core/tracing/index.ts'
import type { World } from '../calls.ts'
import { type ArgumentsCalls, of, on } from './call.ts'

const features = { ids: new Uint32Array(), values: new Float32Array() }
const client = ({ client: opened }: World): World['client'] => opened

/** Calls of clients and of tracing. */
export const CLIENT_CALLS: ArgumentsCalls = {
  'WeirClient.connect': {
    args: [],
    call: ({ client: one }, ...options) =>
      (one.constructor as unknown as { connect(...o: never[]): unknown }).connect(...options),
  },
  'weirClient.predict': on(client, 'predict', 'ALS_MODEL', '1-U', '7-I'),
  'weirClient.predictWithEnvelope': on(client, 'predictWithEnvelope', 'ALS_MODEL', '1-U', '7-I'),
  'weirClient.rows': on(client, 'rows', 'ALS_MODEL', ['1-U']),
  'weirClient.values': on(client, 'values', 'S', ['1']),
  'weirClient.get': on(client, 'get', 'ALS_MODEL', '1-U'),
  'weirClient.getWithEnvelope': on(client, 'getWithEnvelope', 'ALS_MODEL', '1-U'),
  'weirClient.entries': {
    args: ['S', {}],
    call: ({ client: one }, ...args) =>
      (one.entries as (...o: never[]) => AsyncGenerator).call(one, ...args).next(),
  },
  'weirClient.scan': on(client, 'scan', 'S', { from: '', to: 'z', limit: 1 }),
  'weirClient.sparseDot': on(client, 'sparseDot', 'S', features),
  'weirClient.predictLinear': on(client, 'predictLinear', 'S', features),
  'weirClient.topK': on(client, 'topK', 'ALS_MODEL', '1-U', { k: 1 }),
  'weirClient.infer': on(client, 'infer', 'm', []),
  'weirClient.inferRaw': on(client, 'inferRaw', 'm', { inputs: [], outputs: [] }),
  'weirClient.models': on(client, 'models'),
  'weirClient.signature': on(client, 'signature', 'm'),
  'weirClient.changeModel': on(client, 'changeModel', 'load', 'm'),
  predictInterval: {
    args: [undefined, { state: 'ALS_MODEL', left: '1-U', right: '7-I', share: 0.95 }],
    call: ({ client: opened }, reader, ...others) =>
      (predictInterval as (...o: unknown[]) => unknown)(
        reader === undefined ? opened : reader,
        ...others,
      ),
  },
  keyOfText: of(keyOfText, 'k'),
  atLeast: of(atLeast, { source: 0, partition: 0, offset: 0 }),

  traceProgram: of(traceProgram, {}),
  withSpan: of(withSpan, 's', async () => {}),
}
