// Command workloadbuilder writes what Kubernetes' own workloadbuilder makes of trees, one JSON object a line: the tree as
// it was read from standard input, the errors of Validate as [field, type], and the Workload or, if it does not compile,
// null.
//
// Regenerate, in this directory, with the virtual environment active:
//
//	(cd ../../.. && python -m tests.unit.workload_builder.go_trees) | go run . >trees.jsonl
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"

	v1alpha3 "k8s.io/api/scheduling/v1alpha3"
	v1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/scheduling/schedulingv1/workloadbuilder"
)

type item struct {
	Name      string                            `json:"name"`
	Path      string                            `json:"path"`
	Default   *workloadbuilder.SchedulingConfig `json:"default"`
	Leaf      *leafBlocks                       `json:"leaf"`
	Composite *compositeBlocks                  `json:"composite"`
	Count     *int32                            `json:"count"`
	Children  []*item                           `json:"children"`
}

type leafBlocks struct {
	Policy         *v1alpha3.WorkloadPodGroupSchedulingPolicy      `json:"policy"`
	Constraints    *v1alpha3.WorkloadPodGroupSchedulingConstraints `json:"constraints"`
	DisruptionMode *v1alpha3.WorkloadPodGroupDisruptionMode        `json:"disruptionMode"`
	ResourceClaims []v1alpha3.WorkloadPodGroupResourceClaim        `json:"resourceClaims"`
}

type compositeBlocks struct {
	Policy         *v1alpha3.WorkloadCompositePodGroupSchedulingPolicy      `json:"policy"`
	Constraints    *v1alpha3.WorkloadCompositePodGroupSchedulingConstraints `json:"constraints"`
	DisruptionMode *v1alpha3.WorkloadCompositePodGroupDisruptionMode        `json:"disruptionMode"`
}

type tree struct {
	Root        *item    `json:"root"`
	Old         *item    `json:"old"`
	Policies    []string `json:"policies"`
	Modes       []string `json:"modes"`
	Declarative bool     `json:"declarative"`
}

type answer struct {
	Tree     json.RawMessage   `json:"tree"`
	Errors   [][2]string       `json:"errors"`
	Workload *v1beta1.Workload `json:"workload"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var given tree
		check(json.Unmarshal(lines.Bytes(), &given))
		check(out.Encode(ask(given, append([]byte(nil), lines.Bytes()...))))
	}
	check(lines.Err())
}

func ask(given tree, text json.RawMessage) answer {
	builder := workloadbuilder.NewBuilder(itemOf(given.Root), optionsOf(given))
	result := answer{Tree: text, Errors: [][2]string{}}
	for _, problem := range builder.Validate(context.Background(), workloadbuilder.ValidationInput{OldRoot: itemOf(given.Old)}) {
		path := problem.Field
		if path == "<nil>" {
			path = ""
		}
		result.Errors = append(result.Errors, [2]string{path, string(problem.Type)})
	}
	if workload, err := builder.BuildWorkload(); err == nil {
		result.Workload = workload
	}
	return result
}

func optionsOf(given tree) workloadbuilder.BuildOptions {
	policies := map[string]workloadbuilder.SchedulingPolicyOption{
		"basic": workloadbuilder.BasicPolicy, "gang": workloadbuilder.GangPolicy,
	}
	modes := map[string]workloadbuilder.DisruptionModeOption{
		"single": workloadbuilder.SingleMode, "all": workloadbuilder.AllMode,
	}
	options := workloadbuilder.BuildOptions{
		Name: "training", Namespace: "ml", DisableDeclarativeValidation: !given.Declarative,
		Owner: &metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "training", UID: "uid"},
	}
	for _, name := range given.Policies {
		options.AllowedPolicies = append(options.AllowedPolicies, policies[name])
	}
	for _, name := range given.Modes {
		options.AllowedDisruptionModes = append(options.AllowedDisruptionModes, modes[name])
	}
	return options
}

func itemOf(given *item) *workloadbuilder.WorkloadItem {
	if given == nil {
		return nil
	}
	result := &workloadbuilder.WorkloadItem{Name: given.Name, DefaultConfig: given.Default}
	if given.Path != "" {
		result.Path = field.NewPath(given.Path)
	}
	result.Input.Policy.PathElements = []string{"schedulingPolicy"}
	result.Input.Constraints.PathElements = []string{"schedulingConstraints"}
	result.Input.DisruptionMode.PathElements = []string{"disruptionMode"}
	result.Input.ResourceClaims.PathElements = []string{"resourceClaims"}
	if given.Leaf != nil {
		result.Input.Policy.PodGroupData = given.Leaf.Policy
		result.Input.Constraints.PodGroupData = given.Leaf.Constraints
		result.Input.DisruptionMode.PodGroupData = given.Leaf.DisruptionMode
		result.Input.ResourceClaims.PodGroupData = given.Leaf.ResourceClaims
	}
	if given.Composite != nil {
		result.Input.Policy.CompositePodGroupData = given.Composite.Policy
		result.Input.Constraints.CompositePodGroupData = given.Composite.Constraints
		result.Input.DisruptionMode.CompositePodGroupData = given.Composite.DisruptionMode
	}
	if given.Count != nil {
		result.Callbacks = []workloadbuilder.SchedulingConfigFunc{nil, fillCount(*given.Count)}
	}
	for _, child := range given.Children {
		result.Children = append(result.Children, itemOf(child))
	}
	return result
}

func fillCount(count int32) workloadbuilder.SchedulingConfigFunc {
	return func(config *workloadbuilder.SchedulingConfig) {
		if config.Policy != nil && config.Policy.Gang != nil && config.Policy.Gang.MinCount == nil {
			filled := count
			config.Policy.Gang.MinCount = &filled
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
