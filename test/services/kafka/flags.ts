import { join } from 'node:path'

/** Folder with the dependencies and the logging of the Kafka that tests run. */
export const KAFKA_SETTINGS = import.meta.dirname

const QUIET = [
  '-Djava.awt.headless=true',
  `-Dlog4j2.configurationFile=${join(KAFKA_SETTINGS, 'log4j2.properties')}`,
  '-Dlog4j2.disableJmx=true',
]

/** JVM flags of a broker that runs for a long time. */
export const KAFKA_BROKER_FLAGS: readonly string[] = [
  '-Xms256m',
  '-Xmx512m',
  '-XX:+UseG1GC',
  '-XX:MaxGCPauseMillis=20',
  ...QUIET,
]

/** JVM flags of a broker that starts quickly, at the price of throughput. */
export const KAFKA_QUICK_FLAGS: readonly string[] = [
  '-XX:TieredStopAtLevel=1',
  '-XX:+UseSerialGC',
  '-Xms128m',
  '-Xmx384m',
  ...QUIET,
]

/** JVM flags of Kafka's tools. */
export const KAFKA_TOOL_FLAGS: readonly string[] = [
  '-Xmx256m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  ...QUIET,
]
