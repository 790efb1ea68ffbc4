import { ApiError, NetworkFailure } from '@gatehouse/client'

/** What went wrong, for a person: the server's own sentence, or what to do when it could not be asked. */
export function sayProblem(error: Error): string {
  if (error instanceof NetworkFailure) {
    const host = new URL(error.origin, location.origin).host
    const who = host === location.host ? 'This instance' : host
    return error.timedOut
      ? `${who} took too long to answer. Try again.`
      : `${who} could not be reached. Check your connection and try again.`
  }
  if (error instanceof ApiError)
    return error.status === 503 ? 'The instance is busy. Try again in a moment.' : error.message
  return 'Something went wrong. Try again.'
}
