import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const exec = promisify(execFile)

/** Whether Prometheus's tool is installed. */
export const hasPromtool = await exec('promtool', ['--version']).then(
  () => true,
  () => false,
)

/** What `promtool check metrics` says of a text: nothing when it finds nothing wrong. Rejects when it finds anything. */
export async function checkMetrics(text: string): Promise<string> {
  const checked = exec('promtool', ['check', 'metrics'])
  checked.child.stdin!.end(text)
  const { stdout, stderr } = await checked
  return stdout + stderr
}
