import { answerAccept } from './accept.ts'
import { answerLogin, answerRegister } from './accounts.ts'
import { answerVerifyAttachProof } from './attach.ts'
import { answerDenied } from './denials.ts'
import { answerEpoch } from './epoch.ts'
import type { Routes } from './http.ts'
import { answerDeleteIdentity } from './identities.ts'
import { answerByHomeId, answerLookup } from './lookups.ts'
import { answerInfo } from './probes.ts'
import { answerRelay } from './relay.ts'
import { answerRotate } from './rotation.ts'
import { answerSync } from './sync.ts'

const kibibyte = 1024

/** Every request that is answered, with the size of its body and a limit of its own. wire: 1, limits */
export const routes: Routes = {
  'GET /api/instance/info': { answer: answerInfo },
  'POST /api/auth/login': { answer: answerLogin, limit: 'login' },
  'POST /api/auth/register': { answer: answerRegister, limit: 'register' },
  'POST /api/federation/peer/accept': { answer: answerAccept, limit: 'accept' },
  'POST /api/federation/peer/denied': { answer: answerDenied },
  'POST /api/federation/peer/rotate': { answer: answerRotate },
  'POST /api/federation/epoch': { answer: answerEpoch, maxBytes: 4 * kibibyte },
  'POST /api/federation/relay': { answer: answerRelay, maxBytes: 10 * kibibyte * kibibyte, limit: 'none' },
  'POST /api/federation/sync': { answer: answerSync, maxBytes: 64 * kibibyte },
  'POST /api/federation/users/lookup': { answer: answerLookup, maxBytes: 4 * kibibyte, limit: 'none' },
  'POST /api/federation/users/by-home-id': { answer: answerByHomeId, maxBytes: 4 * kibibyte, limit: 'none' },
  'POST /api/federation/verify-attach-proof': {
    answer: answerVerifyAttachProof,
    maxBytes: 4 * kibibyte,
    limit: 'none',
  },
  'DELETE /api/federation/identity': { answer: answerDeleteIdentity },
}
