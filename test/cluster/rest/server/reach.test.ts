import { expect, it } from 'vitest'
import { FakeJob, fakeApp, fakeCluster } from '../fake-cluster.ts'

/**
 * Every route that changes something or names a file, by what a client can reach with it beyond the state of the job. A
 * new route needs a line, and a line that reaches more a test of its bounds.
 */
const REACHES: Readonly<Record<string, string>> = {
  // `requireReach`: only what the start of the JobManager allows (test/cli/cluster/submission-rights.test.ts).
  'POST /jobs': 'modules, files, hosts and addresses of the rights of the JobManager',
  // `savepointParentOf`: below the checkpoint storage (test/cluster/rest/job/savepoint-place.test.ts).
  'POST /jobs/{jobid}/savepoints': 'a folder of the checkpoint storage',
  'POST /jobs/{jobid}/stop': 'a folder of the checkpoint storage',
  // One of the names that the folder has (test/cluster/jobmanager/logs.test.ts).
  'GET /jobmanager/logs/{filename}': 'a log of the JobManager',
  'GET /taskmanagers/{taskmanagerid}/logs/{filename}': 'a log of the job',
  'DELETE /cluster': 'nothing',
  'DELETE /jars/{jarid}': 'nothing: refused',
  'POST /jars/upload': 'nothing: refused',
  'POST /jars/{jarid}/plan': 'nothing: refused',
  'POST /jars/{jarid}/run': 'nothing: refused',
  'POST /savepoint-disposal': 'nothing: refused',
  'PATCH /jobs/{jobid}': 'nothing',
  'PATCH /jobs/{jobid}/rescaling': 'nothing',
  'PUT /jobs/{jobid}/resource-requirements': 'nothing',
  'POST /jobs/{jobid}/checkpoints': 'nothing',
  'POST /weir/jobs/{jobid}/process': 'nothing',
  'POST /weir/jobs/{jobid}/rebalance': 'nothing: the other processes are those of the group',
  'POST /weir/jobs/{jobid}/models/rollback': 'versions of the model of the job',
  'POST /weir/jobs/{jobid}/models/{version}/promote': 'versions of the model of the job',
}

it('each route of the REST interface that changes something or names a file says what it reaches', async () => {
  await using app = await fakeApp(fakeCluster([new FakeJob()]))
  const { paths } = (await app.inject({ url: '/openapi.json' })).json<{
    paths: Record<string, Record<string, object>>
  }>()
  const found = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => method !== 'get' || path.endsWith('name}'))
      .map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(found.sort()).toEqual(Object.keys(REACHES).sort())
})
