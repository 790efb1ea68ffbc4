import { z } from 'zod'
import * as limits from './constants/limits.ts'
import { rowsOf } from './endpoints/table.ts'
import { newPassword, optionalText, text } from './text.ts'
import { userReply } from './users.ts'

const identity = rowsOf('identity')

/** Not in the gateway's table: unreachable from outside. docs/decisions/caller-identity.md. */
export const operatorEndpoints = {
  findUser: {
    ...identity('GET', '/internal/operator/user', 'admin'),
    query: z.object({ user: text('user').min(1, { error: 'user is required' }).max(limits.federatedUsernameMax) }),
    replies: { 200: z.object({ user: userReply }) },
  },
  createUser: {
    ...identity('POST', '/internal/operator/users', 'admin'),
    body: z.object({
      username: text('username'),
      displayName: optionalText('displayName', limits.displayNameMax, 'one').optional(),
      password: newPassword('password').optional(),
    }),
    replies: { 201: z.object({ user: userReply, temporaryPassword: z.string().nullable() }) },
  },
} as const
