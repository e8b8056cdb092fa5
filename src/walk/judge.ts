import type { Book } from './books.js'
import type { Reading } from './reading.js'
import type { WalkOutcome } from './types.js'

/** The verdict on a reading whose last page showed nothing new (docs/architecture.md, What proven claims). */
export function judge<P>(reading: Reading<P>): WalkOutcome {
  const { own, joint, number, walk } = reading
  const standing = own.standing()
  if (standing === 'closed') {
    if (number > 1) return outcomeOf(own, 'repaired', 'read again')
    if (reading.hasSteppedBack) return outcomeOf(own, 'repaired', 'resumed or stepped back')
    return outcomeOf(own, 'proven', null)
  }
  if (standing === 'complete')
    return outcomeOf(own, 'repaired', 'records were deleted meanwhile; stepped back')
  const joined = joint === own ? standing : joint.standing()
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
  return outcomeOf(
    own,
    'unproven',
    own.ties.found ? 'records of one updated_at may hide behind each other' : 'the totals do not agree',
  )
}

export const outcomeOf = (
  book: Book,
  verdict: WalkOutcome['verdict'],
  reason: string | null,
): WalkOutcome => ({
  verdict,
  ceiling: book.ceiling,
  books: book.balance(),
  reason,
})
