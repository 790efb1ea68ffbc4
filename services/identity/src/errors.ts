import { commonErrors, defineErrors } from '@gatehouse/runtime'

/** The refusals of this service; their messages are public API. */
export const refuse = {
  account_deleted: commonErrors.account_deleted,
  ...defineErrors({
    username_invalid: {
      status: 400,
      message: 'Username must be 3 to 32 characters and contain only lowercase letters, numbers and underscores',
    },
    federated_username_invalid: {
      status: 400,
      message:
        'Username must look like name@domain: a name of 3 to 32 lowercase letters, numbers and underscores, 100 characters in all',
    },
    home_instance_invalid: { status: 400, message: 'homeInstance must be a host name' },
    home_instance_is_here: { status: 400, message: 'homeInstance is this instance: register a local account instead' },
    username_taken: { status: 409, message: 'Username already taken' },
    registration_closed: { status: 403, message: 'Registration is closed. An invite is required.' },
    federated_registration_closed: { status: 403, message: 'Federated registration is closed on this instance' },
    federated_account_exists: { status: 409, message: 'This federated account already exists here, log in instead' },
    username_missing: { status: 400, message: 'username is required' },
    username_check_closed: { status: 403, message: 'Registration is currently closed' },
    credentials_wrong: { status: 401, message: 'Invalid username or password' },
    current_password_required: { status: 400, message: 'Current password is required' },
    password_incorrect: { status: 403, message: 'Incorrect password' },
    password_changed_meanwhile: { status: 409, message: 'Your password has just been changed, please log in again' },
    user_unknown: { status: 404, message: 'User not found' },
    target_deleted: { status: 400, message: 'This account has been deleted' },
    target_federated: { status: 400, message: 'Federated users authenticate via their home instance' },
    target_is_stub: { status: 400, message: 'This user has never signed in here' },
    last_admin: { status: 409, message: 'The last admin cannot step down' },
    username_mismatch: { status: 400, message: 'Username does not match' },
    password_required: { status: 400, message: 'Password is required' },
    account_owns_spaces: { status: 400, message: 'You must transfer or delete the spaces you own first' },
    owns_spaces: { status: 409, message: 'owns_spaces' },
    profile_managed_at_home: { status: 403, message: 'Profile fields are managed by your home instance' },
    file_not_own: { status: 400, message: 'avatar and banner must name an upload of your own' },
    origin_invalid: { status: 400, message: 'replicatedInstances must hold https origins, each once' },
    file_missing: { status: 400, message: 'Send one image in the field "file"' },
    image_unreadable: { status: 400, message: 'The file is not a PNG, JPEG, WebP, GIF or AVIF image' },
    image_too_large: { status: 400, message: 'The image has more than 40 megapixels' },
    upload_unknown: { status: 404, message: 'File not found' },
    range_not_satisfiable: { status: 416, message: 'Range not satisfiable' },
    images_busy: { status: 503, message: 'Too many uploads at the moment, please try again' },
    hashing_busy: { status: 503, message: 'Too many sign-ins at the moment, please try again' },
  }),
}
