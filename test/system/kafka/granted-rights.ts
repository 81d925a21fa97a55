import type { KafkaAccess } from '../../services/kafka/access.ts'

/**
 * Runs the `kafka-acls` commands that errors name, until `error` returns none; the operation and the
 * resource of each, in order. A broker needs a moment to apply a right.
 */
export async function grantedRights(
  broker: KafkaAccess,
  error: () => Promise<string>,
): Promise<readonly string[]> {
  const grants: string[] = []
  for (const deadline = Date.now() + 300_000; Date.now() < deadline; ) {
    const text = await error()
    if (text === '') return grants
    const [, flags] = /ACCESS_DENIED|is not allowed/.test(text)
      ? (/kafka-acls (--add .*)/.exec(text) ?? [])
      : []
    if (flags === undefined) throw new Error(text)
    const [, grant] = /--operation (.*)/.exec(flags)!
    if (grants.includes(grant!)) continue
    grants.push(grant!)
    await broker.tool('org.apache.kafka.tools.AclCommand', ['--force', ...flags.split(' ')])
  }
  throw new Error(`still denied after ${grants.join(', ')}`)
}
