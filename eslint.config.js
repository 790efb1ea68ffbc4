import tseslint from 'typescript-eslint'

const clock = 'Time is a dependency: use deps.clock.now() (libs/runtime), so that tests can move it.'
const random = 'Randomness is a dependency: use deps.random (libs/runtime), so that tests can seed it.'

export default tseslint.config(
  { ignores: ['node_modules/', '.gatehouse/', '**/dist/'] },
  ...tseslint.configs.recommended,
  {
    files: ['**/*.ts', '**/*.tsx'],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true } }],
      'no-console': 'error',
    },
  },
  {
    files: ['gateway/**/*.ts', 'services/**/*.ts', 'libs/**/*.ts'],
    ignores: ['**/*.test.ts', '**/test/**', 'libs/runtime/**', 'libs/test-kit/**', 'services/web/**'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: clock },
        { object: 'Math', property: 'random', message: random },
      ],
      'no-restricted-syntax': [
        'error',
        { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: clock },
        { selector: "CallExpression[callee.name='randomUUID']", message: random },
        { selector: "CallExpression[callee.name='randomBytes']", message: random },
      ],
    },
  },
  {
    files: ['**/*.test.ts', '**/test/**/*.ts', 'test/**/*.ts'],
    rules: { '@typescript-eslint/no-unused-expressions': 'off' },
  },
  {
    files: ['deploy/**', 'tools/**', 'bench/**', 'libs/test-kit/**', '*.config.*', '**/vite.config.ts'],
    rules: { 'no-console': 'off', 'no-restricted-exports': 'off' },
  },
)
