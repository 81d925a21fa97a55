import { fieldsOf, type Option } from './option.ts'
import { count, duration, parallelism, text } from './value-types.ts'

const ofScaleOut = fieldsOf('scaleOut')

/** The keys of a job in many processes (`weir run --scale-out`), under the names of Kafka Streams. */
export const SCALE_OUT_OPTIONS: Readonly<Record<string, Option>> = {
  'application.id': ofScaleOut(
    'applicationId',
    text,
    "Name of the group of a job's processes, and the beginning of the names of its topics and transactions; the name of the job when missing. Only with --scale-out, as all keys of a group.",
  ),
  'application.server': ofScaleOut(
    'applicationServer',
    text,
    'Where clients and other processes reach the query port of a process, HOST:PORT; host and port of --listen when missing.',
  ),
  'scale-out.partitions': ofScaleOut(
    'partitions',
    parallelism,
    'Job partitions: the parts of the job that processes own. Fixed by the first start (default 24).',
  ),
  'session.timeout.ms': ofScaleOut(
    'sessionTimeoutMs',
    duration(1),
    'Silence after which a process has lost its job partitions; brokers take 6 s or more (default 10 s).',
  ),
  'heartbeat.interval.ms': ofScaleOut(
    'groupHeartbeatMs',
    duration(1),
    'Time between two signs of life of a process to its group (default a tenth of session.timeout.ms).',
  ),
  'group.instance.id': ofScaleOut(
    'groupInstanceId',
    text,
    'Name that a process keeps when it starts again, so that a restart within session.timeout.ms moves nothing.',
  ),
  'replication.factor': ofScaleOut(
    'replicationFactor',
    count(1, 32_767),
    'Copies of each exchange topic; that of the brokers when missing.',
  ),
}
