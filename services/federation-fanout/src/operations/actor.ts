/** The admin whose act is recorded. */
export type Actor = { userId: string; username: string }
