import type { FastifyInstance } from 'fastify'
import { WeirError } from '../../../core/errors.ts'
import { configurationJson, dashboardConfigJson, overviewJson } from '../json/cluster.ts'
import type { Logs } from '../port/cluster.ts'
import type { RouteContext } from './context.ts'
import { readableJobs } from './objects.ts'

/** Routes that describe the JobManager, and those of jar files, which Weir does not have. */
export function clusterRoutes(app: FastifyInstance, context: RouteContext): void {
  const { cluster } = context
  app.get('/config', async () => dashboardConfigJson(cluster.version))
  app.get('/overview', async (request) =>
    overviewJson(await readableJobs(cluster, request), cluster.version),
  )
  app.get('/datasets', async () => ({ dataSets: [] }))
  app.delete('/cluster', async () => {
    await cluster.shutDown()
    return {}
  })
  app.get('/jobmanager/config', async () => configurationJson(cluster.configuration))
  app.get('/jobmanager/environment', async () => environmentJson(cluster.version))
  app.get('/jobmanager/thread-dump', async () => ({ threadInfos: [] }))
  logRoutes(app, '/jobmanager', () => cluster.logs)
  jarRoutes(app)
}

function environmentJson(version: string): object {
  const { node, v8 } = process.versions
  return {
    jvm: {
      version: `Node ${node} (V8 ${v8}), Weir ${version}`,
      arch: process.arch,
      options: process.execArgv,
    },
    classpath: [],
  }
}

/** The routes of log files below a path. */
export function logRoutes(
  app: FastifyInstance,
  path: string,
  logsOf: (params: Readonly<Record<string, string>>) => Logs | undefined,
): void {
  app.get(`${path}/logs`, async (request) => {
    const logs = logsOf(request.params as Record<string, string>)
    const files = (await logs?.list()) ?? []
    return {
      logs: files.map(({ name, bytes, modifiedMs }) => ({ name, size: bytes, mtime: modifiedMs })),
    }
  })
  for (const name of ['log', 'stdout']) {
    app.get(`${path}/${name}`, async (request, reply) => {
      const logs = logsOf(request.params as Record<string, string>)
      const [newest] = (await logs?.list()) ?? []
      const text =
        logs === undefined || newest === undefined ? NO_LOG : await logs.read(newest.name)
      return await reply.type('text/plain; charset=utf-8').send(text)
    })
  }
  app.get(`${path}/logs/:filename`, async (request, reply) => {
    const params = request.params as Record<string, string>
    const logs = logsOf(params)
    const name = params['filename'] ?? ''
    if (logs === undefined) throw new WeirError('FILE_NOT_FOUND', `there is no log file ${name}`)
    return await reply.type('text/plain; charset=utf-8').send(await logs.read(name))
  })
}

const NO_LOG = 'This process writes its log to the terminal that started it.\n'

function jarRoutes(app: FastifyInstance): void {
  app.get('/jars', async (request) => ({ address: `http://${request.host}`, files: [] }))
  const refuse = (): never => {
    throw new WeirError(
      'UNSUPPORTED',
      'Weir runs no jar files. Submit a job with POST /jobs and {"job": "als-serving", "options": {"topic": "als-model"}}, where "job" is the name of a job of Weir or the path of a module in a folder that the JobManager was given with --modules',
    )
  }
  app.post('/jars/upload', refuse)
  app.delete('/jars/:jarid', refuse)
  for (const path of ['plan', 'run']) {
    app.post(`/jars/:jarid/${path}`, refuse)
    app.get(`/jars/:jarid/${path}`, refuse)
  }
}
