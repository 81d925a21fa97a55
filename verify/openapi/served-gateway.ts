import { freePorts } from '../../test/services/free-port.ts'
import { configurationOf, type ServedPort, type ServedProcesses } from './served-processes.ts'

/** Starts a job with a model, a job of histories, and a gateway in front of both that needs tokens. */
export async function serveGateway(processes: ServedProcesses): Promise<ServedPort> {
  const [query, histories] = (await freePorts(2)) as [number, number]
  await processes.done('generate', 'als-model', '--users', '60', '--items', '40')
  await processes.done('topic', 'create', 'observations')
  const { file, token } = await processes.tokens()
  const quiet = ['-D', 'rest.enabled=false']
  const serving = processes.open(['run', 'als-serving', '--port', String(query), ...quiet])
  const history = processes.open(['run', 'histories', '--port', String(histories), ...quiet])
  await serving.printed(/version 1 is live/)
  await history.printed(/serving queries/)
  const gateway = processes.open([
    ...['gateway', '--listen', '127.0.0.1:0', '--port', String(query), '--tokens', file],
    ...['--observations', 'observations', '--histories', `127.0.0.1:${histories}`, '--json'],
  ])
  const [, url] = await gateway.printed(/"url":"([^"]+)"/)
  return { url: url!, token, configuration: configurationOf('gateway.toml') }
}
