/* The section `schedule` of the configuration: the settings of `shopsync schedule`. */
import { z } from 'zod'
import { flag, section, textLeaf, timeZoneLeaf, whole } from './leaf.js'
import { configSection, settingsOf } from './section.js'

const listenError = 'false, or an object such as {"host": "127.0.0.1", "port": 8788}'

const shape = section(
  {
    timeZone: timeZoneLeaf(
      "The time zone of the jobs' schedules, by its IANA name. A fixed hour that daylight saving time skips is due when the gap ends, and one that comes twice is due once.",
    ).prefault('UTC'),
    listen: z
      .union(
        [
          z.literal(false),
          z.strictObject({
            host: textLeaf('a host name or an address such as "127.0.0.1"')
              .default('127.0.0.1')
              .describe(
                'Address to listen on. Anyone who can reach it can read the report: there is no password.',
              ),
            port: whole(0, 65535).default(8788).describe('Port to listen on; 0: any free one.'),
          }),
        ],
        { error: listenError },
      )
      .prefault({})
      .describe('Where `shopsync schedule` serves health, metrics and the report; false: nowhere.'),
    events: flag(
      "Receive the source's events next to the jobs, as `shopsync listen` does; the section events sets the address.",
    ),
  },
  'Settings of `shopsync schedule`.',
)

export const scheduleSection = configSection({ name: 'schedule', after: 'report', shape })

export const scheduleSettings = settingsOf(scheduleSection)
