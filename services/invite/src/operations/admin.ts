/** The admin who acts, as the audit log names them. */
export type Admin = { userId: string; username: string }
