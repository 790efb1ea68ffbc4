import reactHooks from 'eslint-plugin-react-hooks'
import tseslint from 'typescript-eslint'
import { refuseNewerApis } from './tools/browsers/refuse-newer-apis.ts'

const clock =
  'Time is a dependency: use deps.clock.now() (libs/runtime), in the web app now(), so that tests can move it.'
const random = 'Randomness is a dependency: use deps.random (libs/runtime), so that tests can seed it.'
const lazy = 'A file that does not arrive would replace the whole app: use lazyPart or lazyPage (lazy-part.tsx).'
const errorKey = 'Errors are logged under the key `err`.'

const ambient = [
  { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: clock },
  { selector: "CallExpression[callee.name='randomUUID']", message: random },
  { selector: "CallExpression[callee.name='randomBytes']", message: random },
]

const authority = 'Only libs/authority compares an issue time with a change: isRevoked, isIssuedBefore.'
const change = '/^(passwordChangedAt|sessionsEndedAt)$/'
const issued = '/^(iat|issuedAt|tokenIssuedAt)$/'
const revocationRule = [
  { selector: `BinaryExpression[operator=/^[<>]=?$/]:has([name=${change}])`, message: authority },
  { selector: `BinaryExpression[operator='<'][left.name=${issued}]`, message: authority },
  { selector: `BinaryExpression[operator='<'][left.property.name=${issued}]`, message: authority },
]

const logCall = 'CallExpression[callee.property.name=/^(trace|debug|info|warn|error|fatal)$/]'
const errorField = "> ObjectExpression.arguments:first-child > Property[key.name='error']"
const loggedError = [
  { selector: `${logCall}[callee.object.name='log'] ${errorField}`, message: errorKey },
  { selector: `${logCall}[callee.object.property.name='log'] ${errorField}`, message: errorKey },
]

const literalSpread = [
  {
    selector: 'SpreadElement > :matches(ObjectExpression, ArrayExpression)',
    message: 'A spread literal only saves lines: write its members out.',
  },
]

const ignoredStatus =
  'A refused request fails the test later and elsewhere: wrap it in answered(…) of test-kit, or read its status.'
const method = '/^(GET|POST|PUT|PATCH|DELETE)\\b/'
const unreadRequests = [
  `:has(> Literal[value=${method}])`,
  `:has(> TemplateLiteral > TemplateElement:first-child[value.raw=${method}])`,
  "[callee.name='postJson']",
].map((call) => ({ selector: `ExpressionStatement > AwaitExpression > CallExpression${call}`, message: ignoredStatus }))

const tests = ['**/*.test.ts', '**/*.test.tsx', '**/test/**', 'test/**', 'bench/**', 'libs/test-kit/**']

export default tseslint.config(
  { ignores: ['**/node_modules/', '.gatehouse/', '**/dist/'] },
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'no-console': 'error',
      'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true } }],
      'no-restricted-syntax': ['error', ...loggedError, ...literalSpread],

      // Exceptions from the strict set, each with its reason.
      // Handlers of JSX attributes may be async: what they reject with is handled inside.
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
      // `return log.warn(…)` leaves a function early in one line.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      // `() => void (a = b)` is a callback that returns nothing.
      '@typescript-eslint/no-meaningless-void-operator': 'off',
      // Numbers and booleans have one obvious text.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // The specification counts code points, which is what spreading a text gives.
      '@typescript-eslint/no-misused-spread': ['error', { allow: ['string'] }],
      // An async function that does not await makes a throw a rejection, as its type promises.
      '@typescript-eslint/require-await': 'off',
      // Objects here are closures: their functions use no `this` and are taken out of them on purpose.
      '@typescript-eslint/unbound-method': 'off',
      // `Promise.withResolvers<void>()`.
      '@typescript-eslint/no-invalid-void-type': 'off',
      // ws, Koa and MikroORM create the instances of classes that they are given; their types do not say so.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
    },
  },
  {
    files: ['gateway/**', 'services/**/*.ts', 'services/**/*.tsx', 'libs/**/*.ts'],
    ignores: [...tests, 'libs/runtime/**', 'services/web/src/main.tsx'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: clock },
        { object: 'Math', property: 'random', message: random },
        { object: 'crypto', property: 'randomUUID', message: random },
        { object: 'crypto', property: 'getRandomValues', message: random },
      ],
      'no-restricted-syntax': ['error', ...loggedError, ...literalSpread, ...ambient, ...revocationRule],
    },
  },
  {
    files: ['libs/authority/**'],
    ignores: tests,
    rules: { 'no-restricted-syntax': ['error', ...loggedError, ...literalSpread, ...ambient] },
  },
  {
    files: ['services/web/**'],
    plugins: { 'react-hooks': reactHooks },
    rules: { 'react-hooks/rules-of-hooks': 'error' },
  },
  {
    files: ['services/web/src/**'],
    ignores: ['services/web/src/components/lazy-part.tsx'],
    rules: { 'no-restricted-imports': ['error', { paths: [{ name: 'react', importNames: ['lazy'], message: lazy }] }] },
  },
  {
    // What browsers run.
    files: ['services/web/src/**', 'libs/client/src/**', 'libs/contracts/src/constants/**'],
    ignores: tests,
    plugins: { browsers: { rules: { 'refuse-newer-apis': refuseNewerApis } } },
    rules: { 'browsers/refuse-newer-apis': 'error' },
  },
  {
    files: tests,
    rules: {
      'no-restricted-syntax': ['error', ...loggedError, ...literalSpread, ...unreadRequests],
      // A `describe` holds the tests of one subject.
      'max-lines-per-function': 'off',
      // Chai asserts by property.
      '@typescript-eslint/no-unused-expressions': 'off',
      // What is missing in a test fails it at that line.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Tests read replies, events of Node and manifests as they come.
      '@typescript-eslint/no-base-to-string': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      '@typescript-eslint/use-unknown-in-catch-callback-variable': 'off',
    },
  },
  {
    // Programs that people start, and configurations that tools load by their default export.
    files: ['deploy/**', 'tools/**', 'bench/**', 'libs/test-kit/**', '*.config.*', '**/vite.config.ts'],
    rules: { 'no-console': 'off', 'no-restricted-exports': 'off' },
  },
  { files: ['**/*.js'], extends: [tseslint.configs.recommended] },
)
