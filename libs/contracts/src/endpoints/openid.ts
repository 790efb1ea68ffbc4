import * as openid from '../openid.ts'
import { success } from '../users.ts'
import { created, endpoint, ok, type Declarations } from './declaration.ts'

const ofUris = ['redirect_uri_invalid', 'receiver_uri_invalid', 'receiver_uri_private', 'application_pairwise'] as const

/** The endpoints of applications, and of the people whom they log in. Contract: 3, Applications. */
export const openidDeclarations = {
  listConnectedApplications: endpoint(
    'What the caller allowed to which application',
    ok(openid.connectedApplicationsReply),
  ),
  endConnectedApplication: endpoint('End what an application may do for the caller', success, {
    refusals: ['application_unknown'],
  }),
  readInteraction: endpoint('Which application asks this browser for what', ok(openid.interactionReply), {
    params: openid.interactionParams,
    refusals: ['interaction_unknown', 'not_found'],
  }),
  decideInteraction: endpoint('Allow or deny what an application asks for', ok(openid.decisionReply), {
    params: openid.interactionParams,
    body: openid.decisionBody,
    refusals: ['interaction_unknown', 'fresh_login_required', 'not_found'],
  }),
  readDeviceCode: endpoint('Which device waits with a code', ok(openid.deviceCodeReply), {
    body: openid.deviceCodeBody,
    refusals: ['device_code_unknown', 'not_found'],
  }),
  decideDeviceCode: endpoint('Allow or deny what a device asks for', success, {
    body: openid.deviceDecisionBody,
    refusals: ['device_code_unknown', 'not_found'],
  }),
  listApplications: endpoint('The applications that log users in with this instance', ok(openid.applicationsReply)),
  createApplication: endpoint(
    'Add an application; the reply shows its secret this once',
    created(openid.createdApplicationReply),
    { body: openid.createApplicationBody, refusals: [...ofUris, 'application_limit'] },
  ),
  patchApplication: endpoint('Change or suspend an application', ok(openid.oneApplicationReply), {
    body: openid.patchApplicationBody,
    refusals: [...ofUris, 'application_unknown'],
  }),
  deleteApplication: endpoint('Delete an application and end all it was allowed', success, {
    refusals: ['application_unknown'],
  }),
  renewApplicationSecret: endpoint(
    'Make a new secret; the one before is accepted for a day',
    ok(openid.applicationSecretReply),
    { refusals: ['application_unknown', 'application_public'] },
  ),
  testApplicationReceiver: endpoint('Send a verification event to the receiver of signals', success, {
    refusals: ['application_unknown', 'receiver_missing'],
  }),
} satisfies Declarations
