import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AuditEntry, AuditOutcome, AuditSink } from './access/audit.ts'
import type { Principal } from './access/token-verifier.ts'
import { clientAddressOf } from './client-address.ts'
import './principal.ts'

/** A route, as `changeOf` sees it. */
export interface AddedRoute {
  readonly method: string | readonly string[]
  /** Path with its prefix. */
  readonly url: string
  readonly config?: unknown
}

/** Longest text of the objects of an entry. */
const MOST_TEXT = 300

/**
 * Writes an audit entry after each request of the routes that are added from now on and for which `changeOf` has a
 * word, such as `promote`. `fieldOf` gives what only the body names. Other routes have no hook.
 */
export function addAudit(
  app: FastifyInstance,
  audit: AuditSink,
  changeOf: (route: AddedRoute) => string | undefined,
  fieldOf: (request: FastifyRequest) => Readonly<Record<string, string>> = () => ({}),
): void {
  app.addHook('onRoute', (route) => {
    const did = changeOf(route)
    if (did === undefined) return
    const note = async (request: FastifyRequest, { statusCode }: FastifyReply): Promise<void> => {
      const { principal, params, query } = request
      const named = { ...(params as object), ...(query as object), ...fieldOf(request) }
      const from = clientAddressOf(request)
      audit({ ...endOf(statusCode, principal), from, did, on: textOf(named) })
    }
    route.onResponse = [route.onResponse ?? [], note].flat()
  })
}

/** Who asked, and how it ended, by the status that HTTP has for the answer. */
export function endOf(
  status: number,
  principal: Principal | undefined,
): Pick<AuditEntry, 'who' | 'name' | 'outcome' | 'status'> {
  const who = principal?.id ?? (status === 401 ? 'nobody' : 'anonymous')
  return { who, name: principal?.name ?? '', outcome: outcomeOf(status), status: String(status) }
}

/** Whether a request was refused for who sent it, failed, or will end later. */
function outcomeOf(status: number): AuditOutcome {
  if (status === 401 || status === 403 || status === 429) return 'refused'
  if (status >= 400) return 'failed'
  return status === 202 ? 'accepted' : 'done'
}

function textOf(named: object): string {
  const parts = Object.entries(named).map(([name, value]) => `${name}=${String(value)}`)
  return parts.join(' ').slice(0, MOST_TEXT)
}
