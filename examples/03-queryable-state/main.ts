/**
 * State that other processes can query while the job runs. Run it with
 *
 *   npx node examples/03-queryable-state/main.ts
 */
import { unpack } from 'msgpackr'
import { WeirClient } from '../../src/client/index.ts'
import { ServedJob } from '../../src/index.ts'
import type { Views } from './job.ts'

const TOTAL = 6000

await using job = await ServedJob.start({
  module: new URL('./job.ts', import.meta.url),
  jobOptions: {},
  configuration: { 'parallelism.default': '2', 'state.backend.type': 'heap' },
  seed: 1,
  port: 0,
})
await job.execution.waitFor('RUNNING')

// From here on only the port is needed: the client could be any process, in any language.
await using client = await WeirClient.connect({ port: job.port })

const pages = ['home', 'docs', 'imprint', 'shop']

async function read() {
  const answers = await client.values('VIEWS', pages)
  return answers.map((answer, i) => ({
    page: pages[i]!,
    // A missing key and a failed request are different answers.
    error: answer.ok || answer.error.code === 'UNKNOWN_KEY' ? undefined : answer.error,
    views: answer.ok ? (unpack(answer.value) as Views).views : 0,
    servedBy: answer.ok ? answer.envelope.servedBy : 'nobody',
  }))
}

let views = await read()
while (views.reduce((sum, entry) => sum + entry.views, 0) < TOTAL) {
  await new Promise((resolve) => setTimeout(resolve, 10))
  views = await read()
}

for (const entry of views) {
  console.log(`${entry.page.padEnd(8)} ${String(entry.views).padStart(5)} views`)
}

const found = await client.scan('VIEWS', { from: 'd', to: 'i', limit: 10 })
console.log(
  'keys from d to i:',
  found
    .map(({ key }) => key)
    .sort()
    .join(', '),
)
