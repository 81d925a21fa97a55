import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>

const KEY = 'weir.tracing'

/** Hands OpenTelemetry's variables to the threads that this thread starts from now on. */
export function shareTracingEnvironment(env: Environment): void {
  const own = Object.entries(env).filter(([name]) => name.startsWith('OTEL_'))
  if (own.length > 0) setEnvironmentData(KEY, Object.fromEntries(own) as never)
}

/** OpenTelemetry's variables; none where neither a command line nor a program has read them. */
export function tracingEnvironment(): Environment {
  return (getEnvironmentData(KEY) as unknown as Environment | undefined) ?? {}
}
