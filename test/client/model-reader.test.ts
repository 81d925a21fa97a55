import { WeirClient } from '../../src/client/index.ts'
import type { QueryBackend } from '../../src/serving/port/query-backend.ts'
import { QueryServer } from '../../src/serving/server/query-server.ts'
import { modelReaderContract } from '../contracts/model-reader.ts'

modelReaderContract('the client', async (world) => {
  const reader = world.reader()
  const backend: QueryBackend = {
    reader,
    predictDeferred: (state, deferred, options) => reader.predictDeferred(state, deferred, options),
    topKRanked: (state, query, options) => reader.topKRanked(state, query, options),
    scanPage: (state, range, options) => reader.scanPage(state, range, options),
    open: (state, version, consistency) => reader.open(state, version, consistency),
    routingEpoch: () => 1,
    routing: () => ({ epoch: 1, job: 'als', endpoints, states: [], sources: [] }),
  }
  const server = new QueryServer(backend)
  const port = await server.listen()
  const endpoints = [{ server: 'query-0', host: '', port }]
  const client = await WeirClient.connect({ port })
  return {
    reader: client,
    async close() {
      await client.close()
      await server.close()
    },
  }
})
