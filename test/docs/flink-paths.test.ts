import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'

const PAGE = resolve(import.meta.dirname, '../../docs/reference/rest.md')
const SHORT: readonly (readonly [RegExp, string])[] = [
  [/^VERTEX/, '/jobs/:jobid/vertices/:vertexid'],
  [/^JOB/, '/jobs/:jobid'],
]

/** Paths of Flink 1.20's REST API v1, as its documentation lists them. */
const FLINK = `
/cluster /config /datasets /datasets/delete/:triggerid /datasets/:datasetid
/jars /jars/upload /jars/:jarid /jars/:jarid/plan /jars/:jarid/run
/jobmanager/config /jobmanager/environment /jobmanager/logs /jobmanager/logs/:filename /jobmanager/metrics
/jobmanager/profiler /jobmanager/profiler/:filename /jobmanager/thread-dump
/jobs /jobs/metrics /jobs/overview /jobs/:jobid /jobs/:jobid/accumulators
/jobs/:jobid/checkpoints /jobs/:jobid/checkpoints/config /jobs/:jobid/checkpoints/details/:checkpointid
/jobs/:jobid/checkpoints/details/:checkpointid/subtasks/:vertexid /jobs/:jobid/checkpoints/:triggerid
/jobs/:jobid/clientHeartbeat /jobs/:jobid/config /jobs/:jobid/exceptions /jobs/:jobid/execution-result
/jobs/:jobid/jobmanager/config /jobs/:jobid/jobmanager/environment /jobs/:jobid/jobmanager/log-url
/jobs/:jobid/metrics /jobs/:jobid/plan /jobs/:jobid/rescaling /jobs/:jobid/rescaling/:triggerid
/jobs/:jobid/resource-requirements /jobs/:jobid/savepoints /jobs/:jobid/savepoints/:triggerid
/jobs/:jobid/status /jobs/:jobid/stop /jobs/:jobid/taskmanagers/:taskmanagerid/log-url
/jobs/:jobid/vertices/:vertexid /jobs/:jobid/vertices/:vertexid/accumulators
/jobs/:jobid/vertices/:vertexid/backpressure /jobs/:jobid/vertices/:vertexid/flamegraph
/jobs/:jobid/vertices/:vertexid/jm-operator-metrics /jobs/:jobid/vertices/:vertexid/metrics
/jobs/:jobid/vertices/:vertexid/subtasks/accumulators /jobs/:jobid/vertices/:vertexid/subtasks/metrics
/jobs/:jobid/vertices/:vertexid/subtasks/:subtaskindex
/jobs/:jobid/vertices/:vertexid/subtasks/:subtaskindex/attempts/:attempt
/jobs/:jobid/vertices/:vertexid/subtasks/:subtaskindex/attempts/:attempt/accumulators
/jobs/:jobid/vertices/:vertexid/subtasks/:subtaskindex/metrics /jobs/:jobid/vertices/:vertexid/subtasktimes
/jobs/:jobid/vertices/:vertexid/taskmanagers /jobs/:jobid/vertices/:vertexid/watermarks
/overview /savepoint-disposal /savepoint-disposal/:triggerid
/taskmanagers /taskmanagers/metrics /taskmanagers/:taskmanagerid /taskmanagers/:taskmanagerid/logs
/taskmanagers/:taskmanagerid/logs/:filename /taskmanagers/:taskmanagerid/metrics
/taskmanagers/:taskmanagerid/profiler /taskmanagers/:taskmanagerid/profiler/:filename
/taskmanagers/:taskmanagerid/thread-dump`
  .trim()
  .split(/\s+/)

/** A path whose parameters have no names: the page has shorter ones. */
const shapeOf = (path: string): string => path.replaceAll(/:[a-z]+/gi, ':')

/** The paths in the first cells of the tables. */
function pathsOf(page: string): ReadonlySet<string> {
  const cells = page.split('\n').flatMap((line) => /^\| (.*?) \| /.exec(line)?.[1] ?? [])
  const words = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!))
  return new Set(
    words.map((word) => {
      const path = word.replace(/^[A-Z]+ /, '').replace(/\?.*/, '')
      return shapeOf(SHORT.reduce((text, [short, long]) => text.replace(short, long), path))
    }),
  )
}

it('docs/reference/rest.md says for each path of Flink what Weir has', () => {
  const documented = pathsOf(readFileSync(PAGE, 'utf8'))
  expect(FLINK.filter((path) => !documented.has(shapeOf(path)))).toEqual([])
})
