/** Reads a Postgres warehouse as of one instant, and reports what a role that may not read it should be granted. */
import { Stop } from '../../base/errors.js'
import { codeOf } from '../classify.js'
import type { Db } from '../database.js'
import type { OneInstant } from '../dialect.js'
import { denied } from './drivererrors.js'
import { viewStore } from './views/viewstore.js'

/** Reading needs far less than the write permissions that the hint usually suggests. */
const deniedReading = (cause: Error, where: string, schemas: readonly string[]): Stop => {
  const names = schemas.join(', ')
  return new Stop(`The warehouse ${where} refuses: ${cause.message} (${denied})`, {
    exitCode: 3,
    hint: `To read it, this role needs: grant usage on schema ${names} to ROLE; grant select on all tables in schema ${names} to ROLE`,
    cause,
  })
}

/** All queries of the work see the rows of one instant. */
export async function readAtOneInstant<T>(
  place: {
    readonly db: Db
    readonly schema: string
    /** The default schema of the views. */
    readonly views: string
    readonly where: string
  },
  work: (held: OneInstant) => Promise<T>,
): Promise<T> {
  const { db, schema } = place
  let asked = place.views
  const begin = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  try {
    return await begin.execute(async (held) => {
      const views = (name = place.views) => {
        asked = name
        return viewStore(held, schema, name)
      }
      return work({ db: held, views })
    })
  } catch (error) {
    if (!(error instanceof Error) || codeOf(error) !== denied) throw error
    throw deniedReading(error, place.where, [schema, asked])
  }
}
