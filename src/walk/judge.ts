import type { Book } from './books.js'
import type { Reading } from './reading.js'
import type { WalkOutcome } from './types.js'

export const outcomeOf = (
  book: Book,
  verdict: WalkOutcome['verdict'],
  reason: string | null,
): WalkOutcome => ({ verdict, ceiling: book.ceiling, books: book.balance(), reason })

/** The verdict on a reading whose last page showed nothing new (docs/architecture.md, What proven claims). */
export function judgeReading<P>({ own, joint, number, walk, hasSteppedBack }: Reading<P>): WalkOutcome {
  const standing = own.standing()
  const joined = joint === own ? standing : joint.standing()
  if (standing === 'closed' && number === 1 && !hasSteppedBack) return outcomeOf(own, 'proven', null)
  if (standing === 'closed')
    return outcomeOf(own, 'repaired', number > 1 ? 'read again' : 'resumed or stepped back')
  if (standing === 'complete')
    return outcomeOf(own, 'repaired', 'records were deleted meanwhile; stepped back')
  if (joined === 'closed')
    return outcomeOf(
      joint,
      'repaired',
      'records of one updated_at change their order; joined several readings',
    )
  if (standing === 'even' || joined === 'even') {
    const book = standing === 'even' ? own : joint
    // One even reading may be a coincidence of three events. That two readings meet with one is not believed.
    if (walk.wasEven) return outcomeOf(book, 'repaired', 'two readings agree')
    walk.wasEven = true
    return outcomeOf(
      book,
      'unproven',
      'the list moved among records of one updated_at, and was read but once',
    )
  }
  const mayHide = own.ties.found
  return outcomeOf(
    own,
    'unproven',
    mayHide ? 'records of one updated_at may hide behind each other' : 'the totals do not agree',
  )
}
