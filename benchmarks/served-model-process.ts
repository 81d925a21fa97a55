import { serveAls } from '../src/cli/serve-als.ts'
import { messageOf, WeirError } from '../src/core/errors.ts'
import type { ServedJob } from '../src/jobmanager/served-job.ts'
import { ProgressWatch } from './progress-watch.ts'
import type {
  ServedModelCall,
  ServedModelCalls,
  ServedModelEvent,
  ServedModelPlan,
  ServedModelReply,
  ServedModelRequest,
} from './served-model-messages.ts'

/*
 * What `weir run als-serving` does, in a process that also answers a benchmark's questions. Ends
 * with the benchmark.
 */
const plan = JSON.parse(process.argv[2]!) as ServedModelPlan

function tell(message: ServedModelEvent | ServedModelReply): void {
  process.send!(message)
}

const job = await serveAls({
  data: plan.data,
  topic: plan.topic,
  dimension: plan.dimension,
  slots: plan.slots,
  queryThreads: plan.queryThreads,
  host: '127.0.0.1',
  port: 0,
  // The benchmark stops this process while it measures a rival.
  configuration: { 'heartbeat.timeout': '1 h', ...plan.configuration },
  onLive: () => tell({ kind: 'live', atMs: performance.now() }),
})
job.execution.onStatus(({ to }) => {
  if (to === 'RUNNING') tell({ kind: 'running', atMs: performance.now() })
})
job.execution.result.catch((error: unknown) => tell({ kind: 'failed', message: messageOf(error) }))
tell({ kind: 'listening', port: job.port })

let watch: ProgressWatch | undefined

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
  longestGap: ({ execution }) => {
    watch ??= new ProgressWatch(execution.board)
    return Promise.resolve(watch.takeLongestMs())
  },
}

process.on('message', (request: ServedModelRequest) => {
  answers[request.call](job).then(
    (value) => tell({ kind: 'reply', id: request.id, value }),
    (error: unknown) => tell({ kind: 'reply', id: request.id, error: messageOf(error) }),
  )
})
process.on('disconnect', () => process.exit(0))
