/** Who acts, for the audit log. */
export type Actor = { userId: string | null; username: string }

export type Operator = { userId: null; username: 'operator' }
export const operator: Operator = { userId: null, username: 'operator' }
