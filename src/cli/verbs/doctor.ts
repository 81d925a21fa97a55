import { systemClock } from '../../core/clock.ts'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import { type Command, Flags } from '../command/command.ts'
import { checkDisk } from '../doctor/disk.ts'
import type { Finding } from '../doctor/finding.ts'
import { checkGpu } from '../doctor/gpu.ts'
import { checkMachine, checkNativeModules } from '../doctor/machine.ts'
import { checkPorts } from '../doctor/ports.ts'
import { checkHdfs, checkKafka, checkS3 } from '../doctor/services.ts'
import { url } from '../flag-kinds/places.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { KAFKA_OPTIONS, kafkaOptionsOf } from '../flags/kafka.ts'

const COLUMN = 13

/** `weir doctor`: checks what Weir needs of this machine and of the services around it. */
export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'Check Node, native modules, GPU, disk, ports, Kafka, HDFS, S3 and clocks',
  options: {
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
    hdfs: {
      type: 'string',
      value: url(['hdfs:'], 'hdfs://HOST:PORT/PATH'),
      help: 'Also check this folder of HDFS: hdfs://HOST:PORT/PATH',
    },
    s3: {
      type: 'string',
      value: url(['s3:'], 's3://BUCKET/PREFIX'),
      help: 'Also check this place of a bucket: s3://BUCKET/PREFIX?endpoint=URL',
    },
  },
  details: `A warning names what works worse, a problem what does not work; both say what to do. The exit
status is 1 if there is a problem. Kafka, HDFS and S3 are checked when --brokers, --hdfs and --s3 are given.

Example:
  weir doctor --brokers localhost:9092 --hdfs hdfs://namenode:9870/weir
  weir doctor --s3 's3://my-bucket/weir?region=eu-central-1'`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const kafka = kafkaOptionsOf(flags)
    const hdfs = flags.optional('hdfs')
    const s3 = flags.optional('s3')
    const checks: readonly (() => Promise<readonly Finding[]>)[] = [
      () => Promise.resolve(checkMachine()),
      checkNativeModules,
      async () => [await checkGpu()],
      () => checkDisk(dataDirectory(flags.string('data-dir')).root, systemClock),
      checkPorts,
      async () => (kafka === undefined ? [] : [await checkKafka(kafka, systemClock)]),
      () => (hdfs === undefined ? Promise.resolve([]) : checkHdfs(hdfs, systemClock)),
      async () => (s3 === undefined ? [] : [await checkS3(s3, systemClock)]),
    ]
    let problems = 0
    for (const check of checks) {
      for (const finding of await check()) {
        if (finding.verdict === 'problem') problems += 1
        if (flags.boolean('json')) io.out(JSON.stringify(finding))
        else for (const line of linesOf(finding, io.style)) io.out(line)
      }
    }
    return problems > 0 ? 1 : 0
  },
}

function linesOf(
  { check, verdict, found, advice }: Finding,
  style: (style: 'red' | 'bold' | 'dim', text: string) => string,
): readonly string[] {
  const mark =
    verdict === 'ok'
      ? style('dim', 'ok     ')
      : style(verdict === 'problem' ? 'red' : 'bold', verdict)
  const lines = [`${mark}  ${check.padEnd(COLUMN)}${found}`]
  if (advice !== undefined) lines.push(`${' '.repeat(9 + COLUMN)}${advice}`)
  return lines
}
