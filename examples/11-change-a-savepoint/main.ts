/**
 * A program that reads and changes a savepoint: a job has counted visits in the wrong unit, and its counts are
 * corrected before the job goes on. Run it with
 *
 *   npx node examples/11-change-a-savepoint/main.ts
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  bootstrapWith,
  MemorySink,
  MemorySource,
  SavepointReader,
  SavepointWriter,
  StreamExecutionEnvironment,
  type ValueState,
  valueState,
} from '../../src/index.ts'
import { MiniCluster } from '../../src/testing/index.ts'

/** The state of the job's operator `visits`; reader, writer and job declare it alike. */
const COUNT = valueState<number>('count')

/** Runs the job until it has written `results` counts, stops it and returns its savepoint. */
async function runJob(pages: readonly string[], results: number, from?: string) {
  await using cluster = new MiniCluster({
    configuration: { 'execution.checkpointing.dir': folder },
  })
  const sink = new MemorySink<string>()
  const env = new StreamExecutionEnvironment()
  env
    .fromSource(new MemorySource([pages], { bounded: false }))
    .uid('pages')
    .keyBy((page) => page)
    .process<string>(() => {
      let count: ValueState<number>
      return {
        open(context) {
          count = context.getState(COUNT)
        },
        processElement(page, _context, out) {
          const visits = (count.value() ?? 0) + 1
          count.update(visits)
          out.collect(`${page} ${visits}`)
        },
      }
    })
    .uid('visits')
    .sinkTo(sink)
  const job = cluster.startLocal(env.graph('visits'), { restoreFrom: from })
  await job.waitFor('RUNNING')
  while (sink.values.length < results) await new Promise((resolve) => setTimeout(resolve, 1))
  return { savepoint: join(folder, await job.stopWithSavepoint()), last: sink.values.at(-1) }
}

const folder = await mkdtemp(join(tmpdir(), 'weir-savepoint-'))
try {
  const before = await runJob(['home', 'help', 'home'], 3)
  console.log('the job ends with', before.last)

  await using savepoint = await SavepointReader.read(before.savepoint)
  const stored = savepoint.readKeyedState<string, readonly [string, number]>('visits', () => {
    let count: ValueState<number>
    return {
      open(context) {
        count = context.getState(COUNT)
      },
      readKey: (page, _context, out) => out.collect([page, count.value() ?? 0]),
    }
  })
  const corrected: (readonly [string, number])[] = []
  for await (const [page, visits] of stored) corrected.push([page, visits * 100])
  console.log('corrected:', corrected.toSorted().join(' '))

  // The other operators, here the source with its offset, are copied as they are.
  const changed = await SavepointWriter.fromExistingSavepoint(before.savepoint)
    .removeOperator('visits')
    .withOperator(
      'visits',
      bootstrapWith(corrected)
        .keyBy(([page]) => page)
        .transform(() => {
          let count: ValueState<number>
          return {
            open(context) {
              count = context.getState(COUNT)
            },
            processElement: ([, visits]) => count.update(visits),
          }
        }),
    )
    .write(join(folder, 'savepoints', 'corrected'))

  const after = await runJob(['home', 'help', 'home', 'home'], 1, changed)
  console.log('the job goes on with', after.last)
} finally {
  await rm(folder, { recursive: true })
}
