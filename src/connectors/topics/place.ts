import { name, objectWith } from '../../core/options/kinds.ts'
import { checkArgument, checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import { KAFKA_CLIENT, type KafkaClientOptions } from '../kafka/client/options.ts'

/** Location of topics, as plain data that can be sent to jobs. Exactly one field is given. */
export interface TopicsPlace {
  /** Folder of an embedded log. */
  readonly logDirectory?: string
  /** Connection to a Kafka. */
  readonly kafka?: KafkaClientOptions
}

/** The fields of a location of topics. */
export const TOPICS_PLACE: OptionShape<TopicsPlace> = {
  logDirectory: name,
  kafka: nested(KAFKA_CLIENT),
}

/** Throws INVALID_ARGUMENT unless these are the fields of a location of topics. */
export function checkPlace(call: string, place: object): void {
  checkOptions(call, TOPICS_PLACE, place)
}

/** The location of topics among other options of a job. Throws INVALID_ARGUMENT for what is no object. */
export function placeIn(options: TopicsPlace): TopicsPlace {
  checkArgument('placeIn', 'options', objectWith('options of a job'), options)
  const { logDirectory, kafka } = options
  return {
    ...(logDirectory === undefined ? {} : { logDirectory }),
    ...(kafka === undefined ? {} : { kafka }),
  }
}
