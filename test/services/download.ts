import { join } from 'node:path'
import { dashboardFolder } from './flink/dashboard-server.ts'
import { KAFKA_SETTINGS } from './kafka/flags.ts'
import { mavenClassPath } from './maven-classpath.ts'

/*
 * Downloads Kafka, HDFS and Flink for the tests: `node test/services/download.ts`. `.ci/run` starts it beside what
 * needs none of them.
 */

await mavenClassPath(join(KAFKA_SETTINGS, 'pom.xml'))
await mavenClassPath(join(import.meta.dirname, 'hdfs/pom.xml'))
await dashboardFolder()
