import { ServedJobControl } from '../../src/cluster/rest/job/served-job-control.ts'
import { singleJobCluster } from '../../src/cluster/rest/job/single-job-cluster.ts'
import { RestServer } from '../../src/cluster/rest/server/server.ts'
import { systemClock } from '../../src/core/clock.ts'
import { messageOf, WeirError } from '../../src/core/errors.ts'
import { serveAlsJob } from '../../src/jobs/serve/als.ts'
import type { ServedJob } from '../../src/jobs/served-job.ts'
import type {
  ServedModelCall,
  ServedModelCalls,
  ServedModelEvent,
  ServedModelPlan,
  ServedModelReply,
  ServedModelRequest,
} from './model-messages.ts'
import { ProgressWatch } from './progress-watch.ts'

/*
 * A process that serves as `weir run als-serving` does, and also answers calls of the benchmark. It ends with
 * the benchmark.
 */
const plan = JSON.parse(process.argv[2]!) as ServedModelPlan

function send(message: ServedModelEvent | ServedModelReply): void {
  process.send!(message)
}

const job = await serveAlsJob({
  data: plan.data,
  topic: plan.topic,
  dimension: plan.dimension,
  slots: plan.slots,
  queryThreads: plan.queryThreads,
  port: 0,
  // The benchmark stops this process (SIGSTOP) while it measures a rival.
  configuration: { 'heartbeat.timeout': '1 h', ...plan.configuration },
  onLive: () => send({ kind: 'live', atMs: performance.now() }),
})
job.execution.onStatus(({ to }) => {
  if (to === 'RUNNING') send({ kind: 'running', atMs: performance.now() })
})
job.execution.result.catch((error: unknown) => send({ kind: 'failed', message: messageOf(error) }))
send({ kind: 'listening', port: job.port })

let watch: ProgressWatch | undefined
let rest: Promise<RestServer> | undefined

/** The REST interface of the job, as `weir run` opens it. */
function openRest(served: ServedJob): Promise<RestServer> {
  return RestServer.start({
    cluster: singleJobCluster({
      version: 'benchmark',
      job: new ServedJobControl(served, systemClock),
      configuration: served.configuration,
      queryPort: served.port,
    }),
    access: served.access,
    clock: systemClock,
    host: '127.0.0.1',
    ports: { first: 0, last: 0 },
  })
}

const answers: { [C in ServedModelCall]: (job: ServedJob) => Promise<ServedModelCalls[C]> } = {
  metrics: (served) => served.metrics(),
  checkpoint: async ({ execution }) => {
    const id = await execution.triggerCheckpoint()
    const atMs = performance.now()
    const recent = execution.checkpointStatistics?.recent() ?? []
    const statistics = recent.find((entry) => entry.id === id)
    if (statistics === undefined) {
      throw new WeirError('ILLEGAL_STATE', `there are no statistics of checkpoint ${id}`)
    }
    return { statistics, atMs }
  },
  restPort: async (served) => {
    rest ??= openRest(served)
    return (await rest).port
  },
  longestGap: ({ execution }) => {
    watch ??= new ProgressWatch(execution.board)
    return Promise.resolve(watch.takeLongestMs())
  },
}

process.on('message', (request: ServedModelRequest) => {
  answers[request.call](job).then(
    (value) => send({ kind: 'reply', id: request.id, value }),
    (error: unknown) => send({ kind: 'reply', id: request.id, error: messageOf(error) }),
  )
})
process.on('disconnect', () => process.exit(0))
